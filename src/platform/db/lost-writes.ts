import type { EventEmitter } from 'node:events'
import { isDatabaseUnavailable } from './errors.ts'

const DRIVER = /[\\/]postgres[\\/].*connection\.js/
const listeners = new Set<() => void>()

/**
 * Keeps a fault of postgres.js 3.4.9 from ending the process (porsager/postgres, issue 1208). When
 * the server ends a connection amid a transaction, the driver either writes its rollback to a
 * socket that no longer exists, in a callback of its own, or leaves a rejection of its own
 * statement unhandled, or nobody handles the error of the socket. The caller's statements on that
 * connection are rejected as they should be, but the pool may never use the connection's slot
 * again. The listener must therefore make a new pool.
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

/** Whether an uncaught error is one of the driver's, see `onLostWrite`. */
export function isLostWrite(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (isLostConnection(error)) return true
  if (!DRIVER.test(error.stack ?? '')) return false
  const isWrite = error instanceof TypeError && error.stack?.includes('nextWrite') === true
  return isWrite || isDatabaseUnavailable(error)
}

/**
 * The error of a socket that was read, as Node makes it: no code of anybody is in its stack. A
 * write that fails is not meant: it may be that of the log, on standard output.
 */
function isLostConnection(error: NodeJS.ErrnoException): boolean {
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
  const isOfNode = frames.length > 0 && frames.every((line) => line.includes('(node:'))
  return isOfNode && error.code === 'ECONNRESET' && error.syscall === 'read'
}
