import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export const RESERVE_FILE = 'reserve'
/** Room for a few starts: each takes two blocks of the disk for its own directory. */
const RESERVE_BYTES = 64 * 1024

/**
 * Frees the room that `keepReserve` has kept. A process that was killed while the disk was full
 * leaves records; the next process needs room for its own directory before it can drain them.
 */
export function freeReserve(directory: string): void {
  rmSync(join(directory, RESERVE_FILE), { force: true })
}

/** Keeps room on the disk for the next start. On a full disk it keeps what is left. */
export function keepReserve(directory: string): void {
  const path = join(directory, RESERVE_FILE)
  if (existsSync(path)) return
  try {
    // No zeros: a file system may not store them.
    writeFileSync(path, Buffer.alloc(RESERVE_BYTES, 0xff), { mode: 0o600, flush: true })
  } catch {
    // What was written stays. A disk that takes no writes shows itself with the first record.
  }
}
