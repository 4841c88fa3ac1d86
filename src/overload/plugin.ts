import { Transform } from 'node:stream'
import type { FastifyReply, FastifyRequest, RequestPayload } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { AppError } from '../errors.ts'
import { failureReply } from '../http/reply.ts'
import { STATUS_BY_CODE } from '../http/status.ts'
import { type BodyHold, SMALL_BODY_BYTES } from './body-budget.ts'
import type { LoadShedder } from './load-shedder.ts'

interface SheddingOptions {
  readonly shedder: LoadShedder
}

const RETRY_AFTER_SEC = 1

/**
 * Answers 503 before the process collapses: to scores while the event loop is overloaded, and to large
 * bodies beyond the memory for them.
 *
 * Only scoring is shed for the loop's sake, because it is what overloads it; whoever rolls back a model
 * or revokes a key meanwhile gets through. It comes after the caller is proven and counted against his
 * quota: a 401 stays a 401, and a caller beyond his quota learns that. Not @fastify/under-pressure: it
 * compares the mean delay of the last second, so that it lets in all of a second and then none of one,
 * and what it lets in meanwhile waits as long as if there were no bound.
 */
export const sheddingPlugin = fastifyPlugin<SheddingOptions>(
  async (app, { shedder }) => {
    app.addHook('onRoute', (route) => {
      if (route.config?.access?.by !== 'key') return
      // A route's own hooks run after those of the whole app. Before the body is read, and again before
      // the work: callers whose keys or quotas were asked for elsewhere come on all at once.
      route.onRequest = [...listOf(route.onRequest), refuseScore]
      route.preHandler = [...listOf(route.preHandler), refuseScore]
      // A small request may have a large answer; who does not read it holds its memory.
      if (route.config.operation?.includes('batch') !== true) return
      route.preHandler = [...listOf(route.preHandler), refuseBatch]
      route.onSend = [...listOf(route.onSend), holdAnswer]
    })

    function refuseBatch(request: FastifyRequest, reply: FastifyReply, done: () => void): void {
      if (shedder.refusesBatch()) answerOverload(request, reply)
      else done()
    }

    function holdAnswer(
      _request: FastifyRequest,
      reply: FastifyReply,
      payload: unknown,
      done: (error: Error | null, payload: unknown) => void,
    ): void {
      if (Buffer.isBuffer(payload) && payload.length > SMALL_BODY_BYTES && !reply.raw.closed) {
        const hold = shedder.answers.take(payload.length)
        reply.raw.once('close', () => hold.release())
      }
      done(null, payload)
    }

    function refuseScore(request: FastifyRequest, reply: FastifyReply, done: () => void): void {
      if (shedder.refusesScore()) answerOverload(request, reply)
      else done()
    }

    app.addHook('preParsing', (request, reply, payload, done) => {
      const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
      const declaredBytes = length === undefined ? 0 : Number(length)
      if (declaredBytes <= SMALL_BODY_BYTES && encoding === undefined) {
        done(null, payload)
        return
      }
      const hold = shedder.bodies.hold(declaredBytes)
      if (hold === null) {
        shedder.shed.body_memory++
        answerOverload(request, reply)
        return
      }
      const isScore = request.routeOptions.config.access?.by === 'key'
      done(null, meter(payload, reply, { shedder, hold, isScore, isDeclared: declaredBytes > 0 }))
    })
  },
  { name: 'shedding', dependencies: ['auth'], fastify: '5.x' },
)

function listOf<T>(hooks: T | T[] | undefined): T[] {
  if (hooks === undefined) return []
  return Array.isArray(hooks) ? hooks : [hooks]
}

interface Metered {
  readonly shedder: LoadShedder
  readonly hold: BodyHold
  readonly isScore: boolean
  readonly isDeclared: boolean
}

/** The payload, counted where its length was not declared, and looked at again once it is complete. */
function meter(payload: RequestPayload, reply: FastifyReply, metered: Metered): Transform {
  const { shedder, hold, isScore, isDeclared } = metered
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, pass) {
      if (isDeclared || hold.add(chunk.length)) {
        pass(null, chunk)
      } else {
        shedder.shed.body_memory++
        pass(overloaded())
      }
    },
    // Many may have come to their end together: parsing and scoring them is most of the work.
    flush(end) {
      end(isScore && shedder.refusesScore() ? overloaded() : null)
    },
  })
  payload.pipe(counted)
  payload.once('error', (error) => counted.destroy(error))
  const end = () => {
    hold.release()
    payload.unpipe(counted)
    counted.destroy()
  }
  // While its caller was looked up, the client may have gone.
  if (reply.raw.closed) end()
  else reply.raw.once('close', end)
  return counted
}

function overloaded(): AppError {
  return new AppError('unavailable', 'the service is overloaded, try again later')
}

/** Directly, not by the error handler: an error with its stack, and a line in the log, cost as much. */
function answerOverload(request: FastifyRequest, reply: FastifyReply): void {
  reply
    .code(STATUS_BY_CODE.unavailable)
    .header('retry-after', RETRY_AFTER_SEC)
    .send(failureReply(overloadedOnce, request.id))
}

const overloadedOnce = overloaded()
