import { StaleWhileRevalidateCache } from '../../platform/caches/stale-while-revalidate.ts'
import type { Clock } from '../../platform/clock.ts'

interface OpenSessionsOptions {
  readonly store: { isOpen(sessionId: string, now: Date): Promise<boolean> }
  readonly clock: Clock
  /** Longest time that the end of a session goes unnoticed if nobody announces it. */
  readonly userTtlMs: number
}

const SESSIONS_CACHED_MAX = 10_000
const OPEN = {}

/**
 * Knows which sessions are open, so that an access token ends with its session. A request of a
 * known session reads no database; each session is checked again within `userTtlMs`.
 */
export class OpenSessions {
  private readonly cache: StaleWhileRevalidateCache<object>

  constructor({ store, clock, userTtlMs }: OpenSessionsOptions) {
    this.cache = new StaleWhileRevalidateCache<object>({
      load: async (id) => ((await store.isOpen(id, new Date(clock.epochMs()))) ? OPEN : null),
      clock,
      ttlMs: userTtlMs,
      weightMax: SESSIONS_CACHED_MAX,
    })
  }

  isOpen(sessionId: string): boolean | Promise<boolean> {
    const found = this.cache.get(sessionId)
    return found instanceof Promise ? found.then((open) => open !== null) : found !== null
  }

  /** To be called when any session may have ended. */
  invalidateAll(): void {
    this.cache.invalidateAll()
  }
}
