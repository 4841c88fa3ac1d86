import { AppError } from '../errors.ts'

/** Length of the sliding window that quotas are counted over. */
export const WINDOW_MS = 60_000

/** Starts the subjects that are addresses. A client can have very many of them. */
export const ADDRESS_PREFIX = 'ip:'

/**
 * Receives one decision, as two numbers and not as an object, because every request has one.
 *
 * @param remaining admissions that the window still has room for, this one counted
 * @param retryAfterMs whole milliseconds until a request would be admitted; 0: this one is
 */
export type OnDecision = (remaining: number, retryAfterMs: number) => void

/** A decision that was received, see `OnDecision`. */
export interface QuotaDecision {
  readonly remaining: number
  readonly retryAfterMs: number
}

/**
 * Decides which requests are within their subject's quota.
 *
 * A request is admitted when fewer than the quota were admitted within the last 60 s, else denied;
 * a denied one does not count. An admission is in the window for exactly 60,000 ms: from its
 * millisecond on, and no longer in the one 60,000 later.
 */
export interface Limiter {
  /**
   * Decides one request; calls `onDecision` once, before it returns or later.
   *
   * @param subject the owner of the budget
   * @param quota admissions within the window, as it is at this moment; 0 or less admits none
   */
  decide(subject: string, quota: number, onDecision: OnDecision): void
  /**
   * Returns how many requests of the subject would be admitted now, as far as this process knows. It
   * counts nothing and asks no other process, so it may be too high if replicas share the quota.
   */
  findRoom(subject: string, quota: number): number
  readonly counters: LimiterCounters
  /** Parts that several nodes count, each for itself; absent where one place counts all. */
  parts?(): readonly LimiterPart[]
  close(): void
}

/** The part of the subjects that one node of a cluster counts. */
export interface LimiterPart {
  /** As `host:port`. */
  readonly node: string
  /** Its share of all subjects, from 0 to 1. */
  readonly share: number
  /** True if this process counts them alone. */
  readonly isDegraded: boolean
}

/** Metrics of a limiter that replicas share; zero and false for a limiter of one process. */
export interface LimiterCounters {
  /** True if it, or a part of it, counts for this process alone, although replicas share it. */
  readonly isDegraded: boolean
  /** Number of times that it became degraded. */
  readonly degradations: number
  /** Requests that were decided while degraded. */
  readonly decidedDegraded: number
}

/** The refusal of a request beyond its subject's quota. */
export function rateLimited(retryAfterMs: number): AppError {
  const message = `the quota is used up: wait ${retryAfterMs} ms before the next request`
  return new AppError('rate_limited', message, { retryAfterMs })
}
