import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { AppError } from '../errors.ts'
import { errorFacts } from './error-facts.ts'
import { traceFactsOf } from './trace.ts'

interface SentChunks {
  /** For the log, such as `an export`. */
  readonly what: string
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Sends a body in chunks as they are made. The first chunk is made before the head is sent, so that
 * an error until then has its usual response. A body that can't be made to its end breaks off, and
 * its connection ends.
 */
export async function sendChunks(
  reply: FastifyReply,
  chunks: AsyncIterable<string | Uint8Array>,
  { what, headers }: SentChunks,
): Promise<FastifyReply> {
  const iterator = chunks[Symbol.asyncIterator]()
  const first = await iterator.next()
  const body = Readable.from(noting(first, iterator, reply, what), { objectMode: false })
  // A client that has gone before the first read: the generator, which never began, ends nothing.
  body.once('close', () => void iterator.return?.().catch(() => undefined))
  return reply.headers(headers).send(body)
}

/** Logs a failure here: whoever ends the connection would log the error with its message. */
async function* noting(
  first: IteratorResult<string | Uint8Array>,
  rest: AsyncIterator<string | Uint8Array>,
  { request }: FastifyReply,
  what: string,
): AsyncGenerator<string | Uint8Array> {
  try {
    for (let chunk = first; chunk.done !== true; chunk = await rest.next()) yield chunk.value
  } catch (error) {
    const { operation } = request.routeOptions.config
    request.log.warn(
      { requestId: request.id, operation, ...traceFactsOf(request), err: errorFacts(error) },
      `${what} broke off`,
    )
    throw new AppError('unavailable', `${what} could not be read to its end`)
  } finally {
    await rest.return?.()
  }
}
