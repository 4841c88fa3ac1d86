import type { FastifyReply } from 'fastify'
import { AppError } from '../errors.ts'

/** Returns a signal that is aborted when the client hangs up before it was answered. */
export function signalWhileConnected({ raw }: FastifyReply): AbortSignal {
  const leaving = new AbortController()
  raw.once('close', () => {
    if (!raw.writableFinished) leaving.abort(hungUp())
  })
  return leaving.signal
}

/** The end of work for a client that has hung up, which nobody reads. */
export function hungUp(): AppError {
  return new AppError('invalid_request', 'the client has hung up')
}
