import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../errors.ts'

/**
 * Returns a signal that is aborted when the client hangs up before it was answered; never for a
 * request with an `Idempotency-Key`, whose client asks for the answer again.
 */
export function signalWhileConnected(
  { keyed }: FastifyRequest,
  { raw }: FastifyReply,
): AbortSignal {
  const leaving = new AbortController()
  if (keyed !== null) return leaving.signal
  const end = () => {
    if (!raw.writableFinished) leaving.abort(hungUp())
  }
  if (raw.destroyed) end()
  else raw.once('close', end)
  return leaving.signal
}

/** The end of work for a client that has hung up, which nobody reads. */
export function hungUp(): AppError {
  return new AppError('invalid_request', 'the client has hung up')
}
