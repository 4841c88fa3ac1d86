import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { AppError } from '../errors.ts'
import { errorFacts } from '../platform/error-facts.ts'
import { keepProving } from './proof.ts'
import { readTraceFacts } from './request-id.ts'

type Chunk = string | Uint8Array

interface SentChunks {
  /** For the log, such as `an export`. */
  readonly what: string
  readonly headers: Readonly<Record<string, string>>
}

/** A reader that takes less holds a place that others wait for, and a snapshot of the database. */
const BYTES_PER_SEC_MIN = 16 * 1024
/** A reader may pause for so long, once for each chunk. */
const PAUSE_MS_MAX = 30_000

/**
 * Sends a body in chunks as they are made. The first chunk is made before the head is sent, so that
 * an error until then has its usual response. A body that can't be made to its end breaks off, and
 * its connection ends. So does one whose reader takes longer for a chunk than `patienceMs` says,
 * and one whose caller was revoked, removed or demoted meanwhile.
 */
export async function sendChunks(
  reply: FastifyReply,
  chunks: AsyncIterable<Chunk>,
  { what, headers }: SentChunks,
): Promise<FastifyReply> {
  const iterator = chunks[Symbol.asyncIterator]()
  const first = await iterator.next()
  const body = Readable.from(noting(first, iterator, reply, what), { objectMode: false })
  // A client that has gone before the first read: the generator, which never began, ends nothing.
  body.once('close', () => void iterator.return?.().catch(() => undefined))
  return reply.headers(headers).send(body)
}

/** Returns how long a reader may take for a chunk, in milliseconds. */
export function patienceMs(chunk: Chunk): number {
  return PAUSE_MS_MAX + (Buffer.byteLength(chunk) / BYTES_PER_SEC_MIN) * 1_000
}

/** Logs a failure here: whoever ends the connection would log the error with its message. */
async function* noting(
  first: IteratorResult<Chunk>,
  rest: AsyncIterator<Chunk>,
  reply: FastifyReply,
  what: string,
): AsyncGenerator<Chunk> {
  const { request } = reply
  const prove = keepProving(request)
  const facts = () => {
    const { operation } = request.routeOptions.config
    return { requestId: request.id, operation, ...readTraceFacts(request) }
  }
  const endSlow = () => {
    request.log.warn(facts(), `${what} broke off: its reader is too slow`)
    reply.raw.destroy()
  }
  try {
    for (let chunk = first; chunk.done !== true; chunk = await rest.next()) {
      await prove()
      const timer = setTimeout(endSlow, patienceMs(chunk.value))
      try {
        yield chunk.value
      } finally {
        clearTimeout(timer)
      }
    }
  } catch (error) {
    request.log.warn({ ...facts(), err: errorFacts(error) }, `${what} broke off`)
    throw new AppError('unavailable', `${what} could not be read to its end`)
  } finally {
    await rest.return?.()
  }
}
