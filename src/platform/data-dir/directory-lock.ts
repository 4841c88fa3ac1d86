import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  statSync,
  truncateSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout } from 'node:timers/promises'

// SQLITE_BUSY: another connection holds the lock.
const SQLITE_BUSY = 5
// SQLITE_NOTADB: the file has bytes of something else. A holder of the lock is seen before them.
const SQLITE_NOTADB = 26
const WAIT_MS_MAX = 10_000
const WAIT_STEP_MS = 10

/**
 * A directory in which this process alone works, until `close` or the end of the process. Keep it
 * reachable: a lock that is collected is closed.
 */
export interface DirectoryLock {
  /** A second call does nothing. */
  close(): void
}

/**
 * Makes a directory (mode 0700) if it is missing, and locks it for this process.
 *
 * The lock is an SQLite transaction on an empty `lock.sqlite`, and so a lock of the operating
 * system. It ends with its holder, however that process dies. Two containers of one machine that
 * share the volume see it too, where process ids would repeat. Nothing is ever written to that
 * file: bytes in it are damage, and are cut off.
 *
 * The file system must support POSIX locks; local ones do. POSIX drops the lock when its holder
 * closes any other descriptor of the same file, so this process must not read `lock.sqlite`.
 *
 * @returns null if it is locked, also by an earlier call in this process
 * @throws Error of the system, if the directory can't be made or locked
 */
export function lockDirectory(path: string): DirectoryLock | null {
  const file = join(path, LOCK_FILE)
  let database: DatabaseSync | undefined
  try {
    makeDirectory(path)
    closeToOthers(file)
    database = openLocked(file)
  } catch (error) {
    if (isSqliteError(error, SQLITE_BUSY)) return null
    throw error
  }
  const lock = database
  return {
    close: () => {
      if (lock.isOpen) lock.close()
    },
  }
}

function openLocked(file: string): DatabaseSync {
  const database = new DatabaseSync(file, { timeout: 0 })
  try {
    // A journal on disk would need room on a full one. SQLite ignores OFF in its defensive mode,
    // which Node sets.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
    return database
  } catch (error) {
    database.close()
    if (!isSqliteError(error, SQLITE_NOTADB)) throw error
    truncateSync(file)
    return openLocked(file)
  }
}

function isSqliteError(error: unknown, code: number): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === code
}

/**
 * Makes the file with mode 0600, or removes the permissions of others: a process that can read it
 * can lock it, and so keep the service from starting. An existing file is never opened, see
 * `lockDirectory`.
 */
function closeToOthers(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    if ((statSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600)
  }
}

/**
 * Locks a directory that others lock for moments only, and waits for it; see `lockDirectory`.
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

// Without `recursive`, because with it Node tries for ever if the system reports a directory as
// absent although it refuses it, as below /proc.
function makeDirectory(path: string): void {
  if (existsSync(path)) return
  makeDirectory(dirname(path))
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    // Another process was faster.
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
}
