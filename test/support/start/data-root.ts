import { accessSync, constants, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

const MEMORY = '/dev/shm'
/** Room for the databases of tests that run side by side, 30 MB each, and some left behind. */
const FREE_BYTES_MIN = 2 * 1024 ** 3

/**
 * Folder for the data directories of tests: in memory where the machine has room there. Hundreds of
 * tests copy a database of a thousand files, which took half of their time on a busy disk.
 */
export function dataRoot(): string {
  try {
    accessSync(MEMORY, constants.W_OK)
    const { bavail, bsize } = statfsSync(MEMORY)
    return bavail * bsize >= FREE_BYTES_MIN ? MEMORY : tmpdir()
  } catch {
    return tmpdir()
  }
}
