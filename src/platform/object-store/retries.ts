import { setTimeout as delay } from 'node:timers/promises'
import { ObjectStoreError } from './object-store.ts'

/** Waits before the second attempt and those after it: some 5 s in all. */
const WAITS_MS = [200, 600, 1_400, 3_000] as const
/** Attempts of clients that failed together are spread by this share of a wait. */
const SPREAD = 0.25

/**
 * Repeats a call that fails with `away`, a bounded number of times.
 *
 * @param waitsMs before each further attempt
 */
export async function retried<T>(
  attempt: () => Promise<T>,
  waitsMs: readonly number[] = WAITS_MS,
): Promise<T> {
  for (const waitMs of waitsMs) {
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof ObjectStoreError && error.failure === 'away')) throw error
      await delay(waitMs * (1 - SPREAD + 2 * SPREAD * Math.random()))
    }
  }
  return attempt()
}
