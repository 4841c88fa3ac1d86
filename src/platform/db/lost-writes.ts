import type { EventEmitter } from 'node:events'
import { isDatabaseUnavailable } from './errors.ts'

const DRIVER = /[\\/]postgres[\\/].*connection\.js/
const listeners = new Set<() => void>()

/**
 * Keeps a fault of postgres.js 3.4.9 from ending the process (porsager/postgres, issue 1208). When
 * the server ends a connection amid a transaction, the driver either writes its rollback to a
 * socket that no longer exists, in a callback of its own, or leaves a rejection of its own
 * statement unhandled. The caller's statements on that connection are rejected as they should be,
 * but the pool may never use the connection's slot again. The listener must therefore make a new
 * pool.
 *
 * Any other uncaught error ends the process, as it does without this function.
 *
 * @returns removes the listener
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
