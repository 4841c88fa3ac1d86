import { isUtf8 } from 'node:buffer'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError } from '../errors.ts'
import { free } from '../platform/bytes/free.ts'
import {
  cardSteps,
  jsonSteps,
  parseApplicants,
  parseJson,
  STEPPED_CHARS_MIN,
} from '../platform/json.ts'
import type { Steps } from '../platform/steps.ts'
import { runInTurns, takeTurn } from '../platform/turn-taker.ts'
import { refuseOversizedCard } from './card-bounds.ts'
import { hungUp } from './connected.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Receives the body as it was sent, before it is parsed; null: nobody asks for it. */
    onBody: ((bytes: Buffer) => void) | null
    /** Throws if the body, which is there, should not be parsed. */
    checkBody: (() => void) | null
  }
}

/** Makes JSON the only type of body that the service reads. */
export function acceptJsonOnly(app: FastifyInstance): void {
  app.decorateRequest('onBody', null)
  app.decorateRequest('checkBody', null)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, sent, done) => {
    const body = sent as Buffer
    try {
      request.checkBody?.()
      request.onBody?.(body)
      // Other bytes would become another text: a category that nobody sent.
      if (!isUtf8(body)) throw new AppError('invalid_request', 'the body is not UTF-8')
      const read = request.routeOptions.config.insteadOfParsing?.(request, body) ?? null
      const value = read?.then((it) => it ?? parsed(request, body)) ?? parsed(request, body)
      if (value instanceof Promise) value.then((it) => done(null, it), done)
      else done(null, value)
    } catch (error) {
      done(error as Error)
    }
  })
}

/** Returns a promise for a body with a card, and for a long one: the largest take 30 to 80 ms. */
function parsed({ raw, routeOptions }: FastifyRequest, body: Buffer): unknown {
  const { config, schema } = routeOptions
  const needsNone = schema?.body === undefined || config.isBodyOptional === true
  if (needsNone && body.length === 0) return undefined
  const text = body.toString()
  // A copy of Fastify's, which nobody else has.
  free(body)
  if (config.takesCard === true) return runInTurns(whileConnected(raw.socket, readCard(text)))
  // One read of a connection can bring the bodies of ten batches.
  if (config.load === 'batch') return takeTurn().then(() => parseApplicants(text))
  const hasApplicants = config.load !== undefined || config.takesApplicant === true
  if (hasApplicants) return parseApplicants(text)
  if (text.length < STEPPED_CHARS_MIN) return parseJson(text)
  return runInTurns(whileConnected(raw.socket, jsonSteps(text)))
}

function* readCard(text: string): Steps<unknown> {
  yield* refuseOversizedCard(text)
  return yield* cardSteps(text)
}

/** Ends the work when its client has hung up: the budget for bodies holds its memory no longer. */
function* whileConnected<T>(socket: Socket, steps: Steps<T>): Steps<T> {
  for (;;) {
    if (socket.destroyed) throw hungUp()
    const step = steps.next()
    if (step.done === true) return step.value
    yield
  }
}
