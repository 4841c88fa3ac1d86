import type { EventEmitter } from 'node:events'
import { isDatabaseUnavailable } from './errors.ts'

const DRIVER = /[\\/]postgres[\\/].*connection\.js/
const listeners = new Set<() => void>()

/**
 * Keeps faults of postgres.js 3.4.9 from ending the process (porsager/postgres, issue 1208): when the server
 * ends a connection amid a transaction, the driver writes its rollback to a socket that is gone, in a
 * callback of its own, or leaves the rejection of a statement of its own to nobody. What was asked on that
 * connection is refused all the same, but its place in the pool may never work again: the listener has to
 * make a new pool.
 *
 * Any other uncaught error ends the process, as it does without this.
 *
 * @returns ends the listening
 */
export function onLostWrite(listener: () => void): () => void {
  if (!process.hasUncaughtExceptionCaptureCallback()) {
    process.setUncaughtExceptionCaptureCallback(handle)
  }
  listeners.add(listener)
  return () => {
    listeners.delete(listener)
  }
}

function handle(error: unknown): void {
  if (isLostWrite(error)) {
    for (const listener of listeners) listener()
  } else if (!(process as EventEmitter).emit('uncaughtException', error, 'uncaughtException')) {
    throw error
  }
}

function isLostWrite(error: unknown): boolean {
  if (!(error instanceof Error) || !DRIVER.test(error.stack ?? '')) return false
  const isWrite = error instanceof TypeError && error.stack?.includes('nextWrite') === true
  return isWrite || isDatabaseUnavailable(error)
}
