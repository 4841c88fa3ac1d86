import { execFileSync } from 'node:child_process'

/** Where the measured server runs when it has a core of its own. */
export const SERVER_CORE = 0
/** Where everything else runs then: the load, PostgreSQL, Redis. */
export const OTHER_CORE = 1

/**
 * Keeps a process, its threads and what they start on one core.
 *
 * @throws Error without the program `taskset`, which Linux has
 */
export function pinTo(core: number, pid: number | undefined): void {
  execFileSync('taskset', ['-apc', `${core}`, `${pid}`], { stdio: 'ignore' })
}
