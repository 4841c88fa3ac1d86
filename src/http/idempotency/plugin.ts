import type {
  FastifyReply,
  FastifyRequest,
  onErrorHookHandler,
  onSendHookHandler,
  preHandlerHookHandler,
  RequestPayload,
} from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { AppError, isLoggedAllTheSame } from '../../errors.ts'
import type { Caller, IdempotencyClaim } from '../access/caller.ts'
import { provenCaller } from '../access/request-caller.ts'
import type { Claimed } from './begun.ts'
import { computeDigest, type KeptAnswer } from './sealer.ts'
import { type IdempotencyService, isIdempotencyKey, NOT_KEPT_HEADER } from './service.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Null for a request without an `Idempotency-Key`, and on a route that takes none. */
    keyed: Keyed | null
    /** The first answer to its key, if that was found before Fastify got the request. */
    answered: KeptAnswer | null
    /**
     * On a route whose body is streamed: claims the key of the request when the body was received.
     *
     * @param bodyDigest SHA-256 of its bytes
     * @returns whether the request was answered with its first answer, or its claim, if it has one
     */
    claimStreamed: ((bodyDigest: Uint8Array) => Promise<StreamedClaim>) | null
  }
}

/**
 * A request with an `Idempotency-Key`. States: *read*, until its body was read and found valid;
 * *claimed*, while it is executed; *not-kept*, while it is executed and can't be kept; *settled*,
 * when its answer is kept, or there is none to keep.
 */
interface Keyed {
  bodyDigest: Uint8Array
  state: 'read' | 'claimed' | 'not-kept' | 'settled'
  claimed: Claimed | null
  /** True if the log has the score of a request that failed. */
  isLogged: boolean
}

/** End of a request whose body was streamed. */
export interface StreamedClaim {
  readonly isAnswered: boolean
  readonly claim: IdempotencyClaim | null
}

interface IdempotencyPluginOptions {
  readonly idempotency: IdempotencyService
  /** Records that an answer with a secret is given again. */
  readonly auditLog: {
    note(
      caller: Caller,
      change: {
        readonly action: 'secret.replay'
        readonly subject: string
        readonly after: object
      },
    ): Promise<void>
  }
}

const HEADER = 'idempotency-key'

/**
 * Executes requests with an `Idempotency-Key` once, on the routes that declare
 * `takesIdempotencyKey`.
 *
 * A request claims its key after everything that could refuse it at once: a refused request needs
 * no claim. Its answer is kept before it is sent, so that a client that hangs up finds it when it
 * asks again. A request without the header costs two tests for null.
 */
export const idempotencyPlugin = fastifyPlugin<IdempotencyPluginOptions>(
  async (app, { idempotency, auditLog }) => {
    app.decorateRequest('keyed', null)
    app.decorateRequest('answered', null)
    app.decorateRequest('claimStreamed', null)

    app.addHook('onRoute', (route) => {
      if (route.config?.takesIdempotencyKey !== true) return
      // After the hooks of other plugins: what they refuse is not claimed.
      route.preParsing = [...toList(route.preParsing), takeBody]
      route.preHandler = [...toList(route.preHandler), claimKey]
      route.onError = [...toList(route.onError), noteLogged]
      route.onSend = [...toList(route.onSend), keepAnswer]
    })

    const claimKey: preHandlerHookHandler = (request, reply, done) => {
      const { keyed } = request
      if (keyed === null) {
        done()
        return
      }
      if (request.routeOptions.config.isStreamed === true) {
        const key = makeKey(request)
        request.claimStreamed = (bodyDigest) => {
          keyed.bodyDigest = bodyDigest
          return begin(request, reply, { keyed, key })
        }
        done()
        return
      }
      begin(request, reply, { keyed, key: makeKey(request) }).then(({ isAnswered }) => {
        if (!isAnswered) done()
      }, done)
    }

    const begin = async (
      request: FastifyRequest,
      reply: FastifyReply,
      { keyed, key }: { readonly keyed: Keyed; readonly key: string },
    ): Promise<StreamedClaim> => {
      const caller = provenCaller(request)
      const { method = '', url = '' } = request.raw
      const { bodyDigest } = keyed
      const { keyedScore, keyedBatch } = request.routeOptions.config
      const score = keyedScore?.(request)
      const batch = keyedBatch?.(request)
      const begun =
        request.answered === null
          ? await idempotency.begin({ caller, method, url, key, bodyDigest, score, batch })
          : ({ kind: 'answered', answer: request.answered } as const)
      if (begun.kind === 'answered') {
        keyed.state = 'settled'
        await noteSecret(request, caller, begun.answer)
        answerAgain(reply, begun.answer)
        return { isAnswered: true, claim: null }
      }
      keyed.state = begun.kind === 'not-kept' ? 'not-kept' : 'claimed'
      keyed.claimed = begun.kind === 'not-kept' ? null : begun
      if (begun.kind !== 'claimed') return { isAnswered: false, claim: null }
      if (caller.kind === 'user') request.caller = { ...caller, claim: begun.claim }
      return { isAnswered: false, claim: begun.claim }
    }

    /** An answer that no cache may have holds a secret, which is handed out once more. */
    const noteSecret = async (request: FastifyRequest, caller: Caller, answer: KeptAnswer) => {
      if (answer.cacheControl !== 'no-store') return
      const { id } = JSON.parse(Buffer.from(answer.body).toString()) as { readonly id: string }
      const after = {
        operation: request.routeOptions.config.operation,
        request_id: answer.requestId,
      }
      await auditLog.note(caller, { action: 'secret.replay', subject: id, after })
    }

    const noteLogged: onErrorHookHandler = ({ keyed }, _reply, error, done) => {
      if (keyed !== null) keyed.isLogged = isLoggedAllTheSame(error)
      done()
    }

    const keepAnswer: onSendHookHandler = (request, reply, payload, done) => {
      const { keyed } = request
      if (keyed === null || keyed.state === 'read' || keyed.state === 'settled') {
        done(null, payload)
        return
      }
      keyed.state = 'settled'
      const { claimed, isLogged } = keyed
      const isSuccess = reply.statusCode >= 200 && reply.statusCode < 300
      const send = (isKept: boolean) => {
        if (isSuccess && !isKept) reply.header(NOT_KEPT_HEADER, 'false')
        done(null, payload)
      }
      if (claimed === null) send(false)
      else {
        const end = isLogged ? 'logged' : 'failed'
        const answer = () => makeAnswer(request, reply, payload)
        idempotency.end(claimed, provenCaller(request).teamId, isSuccess ? answer : end, send)
      }
    }
  },
  { name: 'idempotency', dependencies: ['auth'], fastify: '5.x' },
)

/** Takes the digest of the body's bytes, which the parser does not keep. */
function takeBody(
  request: FastifyRequest,
  _reply: FastifyReply,
  payload: RequestPayload,
  done: (error: null, payload: RequestPayload) => void,
): void {
  if (request.headers[HEADER] !== undefined) {
    const bodyDigest = computeDigest('')
    const keyed: Keyed = { bodyDigest, state: 'read', claimed: null, isLogged: false }
    request.keyed = keyed
    request.onBody = (bytes) => {
      keyed.bodyDigest = computeDigest(bytes)
    }
  }
  done(null, payload)
}

/** @throws AppError `invalid_request` */
function makeKey({ raw }: FastifyRequest): string {
  // Node joins repeated headers by commas, which could be part of one key.
  const { rawHeaders } = raw
  const isKey = (_text: string, at: number) =>
    at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === HEADER
  const [key = '', ...others] = rawHeaders.filter(isKey)
  if (others.length === 0 && isIdempotencyKey(key)) return key
  const message = 'send one Idempotency-Key of 1 to 255 printable ASCII characters'
  throw new AppError('invalid_request', message)
}

function makeAnswer(request: FastifyRequest, reply: FastifyReply, payload: unknown): KeptAnswer {
  if (payload !== null && typeof payload !== 'string' && !(payload instanceof Uint8Array)) {
    throw new TypeError(`${request.routeOptions.url} answers with a stream, which can't be kept`)
  }
  return {
    status: reply.statusCode,
    contentType: formatText(reply.getHeader('content-type')),
    cacheControl: formatText(reply.getHeader('cache-control')),
    requestId: request.id,
    body: Buffer.from(payload ?? ''),
  }
}

/** Gives the first answer, with the headers of this request's quota. */
function answerAgain(reply: FastifyReply, answer: KeptAnswer): void {
  const { status, contentType, cacheControl, requestId, body } = answer
  reply.code(status).headers({ 'x-request-id': requestId, 'idempotent-replayed': 'true' })
  if (contentType !== null) reply.header('content-type', contentType)
  if (cacheControl !== null) reply.header('cache-control', cacheControl)
  reply.send(body.length === 0 ? null : body)
}

function formatText(header: ReturnType<FastifyReply['getHeader']>): string | null {
  return typeof header === 'string' ? header : null
}

function toList<T>(hooks: T | T[] | undefined): T[] {
  if (hooks === undefined) return []
  return Array.isArray(hooks) ? hooks : [hooks]
}
