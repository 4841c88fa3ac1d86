/** How often and how long a call is tried. */
export interface RetryRules {
  /** Attempts of one call, the first one included. */
  readonly attemptsMax: number
  /** Time of one attempt, from sending to the last byte of the answer. */
  readonly timeoutMs: number
  /** Time of the whole call, with all attempts and waits. */
  readonly deadlineMs: number
}

export const RETRY_DEFAULTS: RetryRules = {
  attemptsMax: 5,
  timeoutMs: 10_000,
  deadlineMs: 60_000,
}

const BACKOFF_FIRST_MS = 100
const BACKOFF_MAX_MS = 5_000
/** Share of an ordered wait that is added at random, so that callers do not come back at once. */
const JITTER_SHARE = 0.2
const JITTER_MIN_MS = 50

/** What an attempt ended with. */
export interface Ending {
  /** Null when there was no answer at all. */
  readonly status: number | null
  /** Code of the service's error; null for any other ending. */
  readonly code: string | null
}

/**
 * Says whether another attempt may help.
 *
 * A 429 and an `idempotency_in_progress` were not executed, so they are always repeated. After a
 * 502, 503, 504 or a lost answer, nobody knows whether the request was executed.
 *
 * @param isRepeatable whether the request may be executed twice without harm
 */
export function isWorthAnother({ status, code }: Ending, isRepeatable: boolean): boolean {
  if (status === 429 || code === 'idempotency_in_progress') return true
  return isRepeatable && (status === null || [502, 503, 504].includes(status))
}

/**
 * Returns the wait before the next attempt, in milliseconds.
 *
 * An ordered wait is kept and gets a random part on top. Without one, the wait is drawn evenly from
 * 0 to a bound that doubles with each attempt.
 *
 * @param attempt number of the attempt that failed, from 1
 * @param orderedMs what the answer asks for; null or 0 if it asks for nothing
 * @param random from 0 up to, but not including, 1
 */
export function waitMsOf(attempt: number, orderedMs: number | null, random: number): number {
  if (orderedMs !== null && orderedMs > 0) {
    return orderedMs + random * Math.max(JITTER_MIN_MS, orderedMs * JITTER_SHARE)
  }
  return random * Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** (attempt - 1))
}

/** A date of HTTP; `Date.parse` finds one in almost any text with a number. */
const HTTP_DATE = /^[A-Z][a-z]+, [\w :-]+ GMT$/

/**
 * Reads `Retry-After`: seconds, or a date of HTTP, as proxies send it.
 *
 * @param nowMs milliseconds since 1970
 * @returns milliseconds from now, at least 0; null if the header is absent or says neither
 */
export function retryAfterMsOf(header: string | null, nowMs: number): number | null {
  if (header === null) return null
  const text = header.trim()
  if (/^\d+$/.test(text)) return Number(text) * 1_000
  const atMs = HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(atMs) ? null : Math.max(0, atMs - nowMs)
}

/** Resolves after this time, or rejects with the reason of the signal. */
export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    if (signal?.aborted) stop()
    else signal?.addEventListener('abort', stop, { once: true })
  })
}
