import { existsSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout } from 'node:timers/promises'

// SQLITE_BUSY: another connection holds the lock.
const SQLITE_BUSY = 5
const WAIT_MS_MAX = 10_000
const WAIT_STEP_MS = 10

/**
 * A directory that this process alone works in, until `close` or the end of the process. Keep it reachable: a
 * lock that is collected is closed.
 */
export interface DirectoryLock {
  /** A second call does nothing. */
  close(): void
}

/**
 * Makes a directory (mode 0700) if it is missing, and locks it for this process.
 *
 * The lock is an SQLite transaction on an empty `lock.sqlite`, thus a lock of the operating system:
 * it ends with its holder, however that one dies, and two containers of one machine that share the
 * volume see it, where process ids would repeat. Nothing is ever written to that file.
 *
 * Bounds: the file system must carry POSIX locks (local ones do). POSIX drops the lock when its
 * holder closes any other descriptor of the same file, so this process must not read `lock.sqlite`.
 *
 * @returns null if it is locked, also by an earlier call in this process
 * @throws Error of the system, if the directory can't be made or locked
 */
export function lockDirectory(path: string): DirectoryLock | null {
  let database: DatabaseSync | undefined
  try {
    makeDirectory(path)
    database = new DatabaseSync(join(path, LOCK_FILE), { timeout: 0 })
    database.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    database?.close()
    if (error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY) return null
    throw error
  }
  const lock = database
  return {
    close: () => {
      if (lock.isOpen) lock.close()
    },
  }
}

/**
 * Locks a directory that others hold for moments only, see `lockDirectory`.
 *
 * @throws Error if it is not free within `WAIT_MS_MAX`, or can't be made or locked
 */
export async function waitForDirectory(path: string): Promise<DirectoryLock> {
  const deadlineMs = performance.now() + WAIT_MS_MAX
  for (;;) {
    const lock = lockDirectory(path)
    if (lock !== null) return lock
    if (performance.now() > deadlineMs) throw new Error(`another process keeps ${path} locked`)
    await setTimeout(WAIT_STEP_MS)
  }
}

export const LOCK_FILE = 'lock.sqlite'

// Not `recursive`: with that Node tries for ever where the system refuses a directory as absent, as
// it does below /proc.
export function makeDirectory(path: string): void {
  if (existsSync(path)) return
  makeDirectory(dirname(path))
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    // Another process was faster.
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
}
