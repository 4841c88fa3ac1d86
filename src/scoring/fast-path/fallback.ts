import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import fastifyPlugin from 'fastify-plugin'
import type { KeyCaller } from '../../http/access/caller.ts'
import type { KeyLookup } from '../../http/access/request-caller.ts'
import type { KeptAnswer } from '../../http/idempotency/sealer.ts'
import type { RequestSpan } from '../../platform/tracing/request-span.ts'
import type { QuotaDecision } from '../../rate-limit/limiter.ts'
import { isSameHead, type ScoreHead } from './score-head.ts'

/**
 * Facts that the fast path has of a request that it leaves to Fastify. The plugins use it, so that
 * the request keeps its id and its time, and is looked up and counted once.
 */
export interface Fallback {
  readonly requestId: string
  /** In milliseconds of the monotonic clock. */
  readonly receivedAtMs: number
  /** Null if the caller is not proven yet. */
  readonly caller: KeyCaller | null
  /** Null if the key was not looked up, or its caller is proven. */
  readonly keyLookup: KeyLookup | null
  /** Null if the request was not counted. */
  readonly quotaDecision: QuotaDecision | null
  /** Null if the body was not read, or is not needed any more. */
  readonly body: Buffer | null
  /** Why the request is refused; null if nothing speaks against it so far. */
  readonly failure: Error | null
  /** The first answer to its `Idempotency-Key`; null if none was found. */
  readonly answered: KeptAnswer | null
  /** Null if the request does not become a span. */
  readonly span: RequestSpan | null
}

const fallbacks = new WeakMap<IncomingMessage, Fallback>()

export function attachFallback(request: IncomingMessage, fallback: Fallback): void {
  fallbacks.set(request, fallback)
}

/** @returns undefined for a request that the fast path did not look into */
export function findFallback(request: IncomingMessage): Fallback | undefined {
  return fallbacks.get(request)
}

/** A request whose bytes come first on a connection that Node's server takes over. */
interface HandedOver {
  readonly head: ScoreHead
  /** When its head had arrived, in milliseconds of the monotonic clock. */
  readonly receivedAtMs: number
  /** Null if only its time is known. */
  readonly fallback: Fallback | null
}

const handedOver = new WeakMap<Socket, HandedOver>()

/** To be called before Node's server gets the connection. */
export function handOver(socket: Socket, request: HandedOver): void {
  handedOver.set(socket, request)
}

/**
 * Returns what is known of the first request of a connection; undefined from the second on.
 *
 * @param head as Node has read it: if it differs, nothing is known
 */
export function takeHandedOver(socket: Socket, head: ScoreHead | null): HandedOver | undefined {
  const found = handedOver.get(socket)
  if (found === undefined) return undefined
  handedOver.delete(socket)
  return head !== null && isSameHead(found.head, head) ? found : undefined
}

/**
 * Puts what the fast path found out on the request, so that the plugins after this one know no fast
 * path. It is registered after `request-id`, whose time it replaces, and before all others.
 */
export const resumePlugin = fastifyPlugin(
  async (app) => {
    app.addHook('onRequest', (request, _reply, done) => {
      const fallback = findFallback(request.raw)
      if (fallback !== undefined) {
        request.receivedAtMs = fallback.receivedAtMs
        request.caller = fallback.caller
        request.keyLookup = fallback.keyLookup
        request.refusal = fallback.failure
        request.quotaDecision = fallback.quotaDecision
        request.answered = fallback.answered
        request.span = fallback.span
      }
      done()
    })

    // The fast path has read the body from the connection already.
    app.addHook('preParsing', (request, _reply, payload, done) => {
      const body = findFallback(request.raw)?.body
      done(null, body ? Readable.from([body]) : payload)
    })
  },
  { name: 'resume', dependencies: ['request-id'], fastify: '5.x' },
)
