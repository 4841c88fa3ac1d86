import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { NOT_KEPT_HEADER } from '../../http/idempotency/service.ts'
import { SHED_STATUS } from '../../http/overload/load-shedder.ts'
import { JSON_TYPE, RETRY_AFTER_SEC } from '../../http/reply.ts'
import { quotaHeaders } from '../../rate-limit/plugin.ts'
import { attachFallback, type Fallback } from './fallback.ts'
import type { ScoreHead } from './score-head.ts'

/** The headers of an answer, besides those that every answer has. */
export interface ScoreHeaders {
  readonly requestId: string
  readonly quota: number
  readonly remaining: number
  /** True if it came with an `Idempotency-Key` and will not be given again. */
  readonly isNotKept: boolean
  /** True for a refusal, status 503; else it is a score, status 200. */
  readonly isShed: boolean
}

/** One request to score and the way to answer it, however its bytes came. */
export interface Exchange {
  readonly head: ScoreHead
  /** When its head had arrived, in milliseconds of the monotonic clock. */
  readonly receivedAtMs: number
  /** @returns the body if all of it came with the head, else null; it can be read again */
  peekBody(): Buffer | null
  /** @returns the body if all of it is there, else null */
  readBody(): Buffer | null
  /**
   * Waits for the rest of the body. To be called after `readBody` returned null.
   *
   * @param onEnd is called once: with null when `readBody` gives the body, or with the error of a
   *   client that hung up
   */
  awaitBody(onEnd: (failure: Error | null) => void): void
  /** Sends a score, or a refusal under overload. */
  answer(headers: ScoreHeaders, text: string): void
  /** Leaves the request to Fastify, together with what is known of it. */
  fallBack(known: Fallback): void
}

interface NodeRequest {
  readonly head: ScoreHead
  readonly receivedAtMs: number
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly fastify: RequestListener
}

/** A request to score that Node's server has read. */
export class NodeExchange implements Exchange {
  readonly head: ScoreHead
  readonly receivedAtMs: number
  private readonly request: IncomingMessage
  private readonly response: ServerResponse
  private readonly fastify: RequestListener
  private readonly chunks: Buffer[] = []

  constructor({ head, receivedAtMs, request, response, fastify }: NodeRequest) {
    this.head = head
    this.receivedAtMs = receivedAtMs
    this.request = request
    this.response = response
    this.fastify = fastify
  }

  peekBody(): null {
    return null
  }

  /** Most bodies arrive with the head, and are complete by now. */
  readBody(): Buffer | null {
    const { request, head, chunks } = this
    if (request.readableEnded) return Buffer.concat(chunks)
    const isComplete = request.complete && request.readableLength === head.bodyBytes
    return isComplete ? request.read() : null
  }

  awaitBody(onEnd: (failure: Error | null) => void): void {
    const { request, chunks } = this
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.once('end', () => onEnd(null))
    request.once('error', onEnd)
  }

  answer(headers: ScoreHeaders, text: string): void {
    const { requestId, quota, remaining, isNotKept, isShed } = headers
    if (isNotKept) this.response.setHeader(NOT_KEPT_HEADER, 'false')
    if (isShed) this.response.setHeader('retry-after', RETRY_AFTER_SEC)
    this.response.writeHead(isShed ? SHED_STATUS : 200, {
      'x-request-id': requestId,
      ...quotaHeaders(quota, remaining),
      'content-type': JSON_TYPE,
      'content-length': Buffer.byteLength(text),
    })
    this.response.end(text)
  }

  fallBack(known: Fallback): void {
    attachFallback(this.request, known)
    this.fastify(this.request, this.response)
  }
}
