/** Length of the sliding window that quotas are counted over. */
export const WINDOW_MS = 60_000

/** Starts the subjects that are addresses, which anyone can make up more of. */
export const ADDRESS_PREFIX = 'ip:'

/**
 * Told of one decision. Two numbers and no object: it is made for every request.
 *
 * @param remaining admissions that the window still has room for, this one counted
 * @param retryAfterMs whole milliseconds until a request would be admitted; 0: this one is
 */
export type Decided = (remaining: number, retryAfterMs: number) => void

/**
 * Decides which requests are within their subject's quota.
 *
 * A request is admitted when fewer than the quota were admitted within the last 60 s, else denied; a
 * denied one does not count. An admission is in the window for exactly 60,000 ms: from its millisecond
 * on, and no longer in the one 60,000 later.
 */
export interface Limiter {
  /**
   * Decides one request; `decided` is called once, before this returns or later.
   *
   * @param subject whose budget it is
   * @param quota admissions within the window, as it is at this moment; 0 or less admits none
   */
  decide(subject: string, quota: number, decided: Decided): void
  readonly counters: LimiterCounters
  close(): void
}

/** What metrics show of a limiter that replicas share; zero and false for one that they don't. */
export interface LimiterCounters {
  /** Whether it counts for this process alone, though it should for all. */
  readonly isDegraded: boolean
  /** How often it became so. */
  readonly degradations: number
  /** Requests that were decided so. */
  readonly decidedDegraded: number
}
