import type { IncomingMessage } from 'node:http'
import { Transform } from 'node:stream'
import type { FastifyReply, FastifyRequest, RequestPayload } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { AppError } from '../../errors.ts'
import { free } from '../../platform/bytes/free.ts'
import { JSON_TYPE, RETRY_AFTER_SEC } from '../reply.ts'
import { type BodyHold, SMALL_BODY_BYTES } from './body-budget.ts'
import '../access/request-caller.ts'
import { type LoadShedder, overloaded, overloadReply, SHED_STATUS } from './load-shedder.ts'

/**
 * A body may come in so many chunks, and one more for each 64 bytes. The parser takes a microsecond
 * for a chunk of one byte, of which one read of a connection brings 11,000. A file may come in more.
 */
const CHUNKS_MAX = 10_000
const CHUNK_BYTES_MIN = 64
/** A shorter body is parsed sooner than it is refused. */
const LIGHT_BODY_BYTES = 4 * 1024
/** A reader may pause for so long, and must read this much in each further second. */
const PAUSE_MS_MAX = 30_000
const READ_BYTES_PER_SEC_MIN = 64 * 1024

/** Returns how long a reader may take for a large answer, in milliseconds. */
export function readingMsMax(bytes: number): number {
  return PAUSE_MS_MAX + (bytes / READ_BYTES_PER_SEC_MIN) * 1_000
}

/**
 * Answers 503 before the process collapses: to scores while the event loop is overloaded, and to
 * bodies and large answers for which there is no memory. A large answer is counted until its reader
 * has it or has gone, and ends with its connection when the reader is too slow.
 *
 * Only scoring overloads the loop, so only scoring is shed for it: a user can still roll back a
 * model or revoke a key. The plugin runs after authentication and quota: a 401 stays a 401, and a
 * caller beyond their quota gets 429. It does not use @fastify/under-pressure, which compares the
 * mean delay of the last second: it admits everything for a second and nothing for the next, and
 * what it admits waits as long as without a bound.
 */
export const sheddingPlugin = fastifyPlugin<{ readonly shedder: LoadShedder }>(
  async (app, { shedder }) => {
    app.addHook('onRoute', (route) => {
      // After all other hooks, which may keep the answer.
      route.onSend = [...toList(route.onSend), holdAnswer]
      const load = route.config?.load
      if (load === undefined) return
      // A route's own hooks run after the hooks of the app. The check runs before the body is read,
      // and again before the work, because requests that waited for a look-up or for Redis arrive
      // together.
      route.onRequest = [...toList(route.onRequest), refuseScore]
      route.preHandler = [...toList(route.preHandler), refuseScore]
      if (load === 'single') return
      route.preHandler = [...toList(route.preHandler), refuseBatch]
    })

    function refuseBatch(request: FastifyRequest, reply: FastifyReply, done: () => void): void {
      if (shedder.refusesAnswer(findTeam(request))) answerOverload(request, reply)
      else done()
    }

    function holdAnswer(
      request: FastifyRequest,
      reply: FastifyReply,
      payload: unknown,
      done: (error: Error | null, payload: unknown) => void,
    ): void {
      const isLongText = typeof payload === 'string' && payload.length > SMALL_BODY_BYTES
      const answer = isLongText ? Buffer.from(payload) : payload
      if (!Buffer.isBuffer(answer) || answer.length <= SMALL_BODY_BYTES || reply.raw.closed) {
        done(null, payload)
        return
      }
      // Anything else than a GET has changed or logged something, which its answer must tell.
      if (request.method === 'GET' && shedder.refusesAnswer(findTeam(request))) {
        reply.code(SHED_STATUS).header('retry-after', RETRY_AFTER_SEC)
        reply.removeHeader('content-disposition').type(JSON_TYPE)
        done(null, JSON.stringify(overloadReply(request.id)))
        return
      }
      const hold = shedder.answers.take(answer.length, findTeam(request))
      const ending = setTimeout(() => {
        request.log.warn({ requestId: request.id }, 'an answer broke off: its reader is too slow')
        reply.raw.destroy()
      }, readingMsMax(answer.length))
      reply.raw.once('close', () => {
        clearTimeout(ending)
        hold.release()
      })
      // Only the copy of a text is certain to be nobody else's.
      if (isLongText) reply.raw.once('finish', () => free(answer))
      done(null, answer)
    }

    function refuseScore(request: FastifyRequest, reply: FastifyReply, done: () => void): void {
      if (shedder.refusesScore(findSingleTeam(request))) answerOverload(request, reply)
      else done()
    }

    app.addHook('onSend', (request, _reply, payload, done) => {
      const { raw } = request
      if (raw.headers['transfer-encoding'] !== undefined && !raw.complete) boundRest(raw)
      done(null, payload)
    })

    app.addHook('preParsing', (request, reply, payload, done) => {
      const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
      const declaredBytes = length === undefined ? 0 : Number(length)
      const { isStreamed = false, load } = request.routeOptions.config
      // Many bodies may end together, and to parse and score them is most of the work.
      const isLate = () => load !== undefined && shedder.refusesScore(findSingleTeam(request))
      if (load !== undefined && declaredBytes > LIGHT_BODY_BYTES) {
        request.checkBody = () => {
          if (isLate()) throw overloaded()
        }
      }
      if (isStreamed || (declaredBytes <= SMALL_BODY_BYTES && encoding === undefined)) {
        done(null, payload)
        return
      }
      const hold = shedder.bodies.hold(declaredBytes, findTeam(request))
      if (hold === null) {
        shedder.shed.body_memory++
        answerOverload(request, reply)
        return
      }
      if (declaredBytes > 0) {
        if (reply.raw.closed) hold.release()
        else reply.raw.once('close', () => hold.release())
        done(null, payload)
        return
      }
      done(null, meter(payload, reply, { shedder, hold, isLate }))
    })
  },
  { name: 'shedding', dependencies: ['auth'], fastify: '5.x' },
)

function findTeam({ caller }: FastifyRequest): string | null {
  return caller?.teamId ?? null
}

/** @returns null for a batch, too */
function findSingleTeam(request: FastifyRequest): string | null {
  return request.routeOptions.config.load === 'single' ? findTeam(request) : null
}

function toList<T>(hooks: T | T[] | undefined): T[] {
  if (hooks === undefined) return []
  return Array.isArray(hooks) ? hooks : [hooks]
}

interface Metered {
  readonly shedder: LoadShedder
  readonly hold: BodyHold
  /** Tells whether there is no time to parse and score the body; counts a refusal. */
  readonly isLate: () => boolean
}

/**
 * Passes on a payload of unknown length: counts the bytes, and checks the load at the end. A body
 * of declared length does without this stream, behind which the parsed records of each batch outlived
 * the young generation: a batch of 1,000 takes 7 % less processor time, the p99 falls by a third.
 */
function meter(payload: RequestPayload, reply: FastifyReply, metered: Metered): Transform {
  const { shedder, hold, isLate } = metered
  const isTooMany = countChunks()
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, pass) {
      if (isTooMany(chunk)) pass(tooManyChunks())
      else if (hold.add(chunk.length)) {
        pass(null, chunk)
      } else {
        shedder.shed.body_memory++
        pass(overloaded())
      }
    },
    flush(end) {
      end(isLate() ? overloaded() : null)
    },
  })
  payload.pipe(counted)
  payload.once('error', (error) => counted.destroy(error))
  const end = () => {
    hold.release()
    payload.unpipe(counted)
    counted.destroy()
  }
  // The client may have hung up during the look-up of its key.
  if (reply.raw.closed) end()
  else reply.raw.once('close', end)
  return counted
}

/** Ends the connection amid a body that nobody reads any more, which would be parsed to its end. */
function boundRest(request: IncomingMessage): void {
  const isTooMany = countChunks()
  request.on('data', (chunk: Buffer) => {
    if (isTooMany(chunk)) request.destroy()
  })
  request.resume()
}

/** @returns a function that takes one chunk after the other, and tells whether they are too many */
function countChunks(): (chunk: Buffer) => boolean {
  let chunks = 0
  let bytes = 0
  return ({ length }) => {
    bytes += length
    return ++chunks > CHUNKS_MAX + bytes / CHUNK_BYTES_MIN
  }
}

function tooManyChunks(): AppError {
  const message = `the body comes in too many chunks: send it in chunks of ${CHUNK_BYTES_MIN} bytes or more`
  return new AppError('invalid_request', message)
}

/**
 * Skips the error handler: an error with its stack, and a line in the log, would cost as much as a
 * score.
 */
function answerOverload(request: FastifyRequest, reply: FastifyReply): void {
  reply.code(SHED_STATUS).header('retry-after', RETRY_AFTER_SEC).send(overloadReply(request.id))
}
