import type { Fallback } from './fallback.ts'
import type { ScoreHead } from './score-head.ts'

/** The headers of an answer, besides those that every answer has. */
export interface ScoreHeaders {
  readonly requestId: string
  readonly quota: number
  readonly remaining: number
  /** True if it came with an `Idempotency-Key` and will not be given again. */
  readonly isNotKept: boolean
  /** True for a refusal, status 503; else it is a score, status 200. */
  readonly isShed: boolean
}

/** One request to score and the way to answer it, however its bytes came. */
export interface Exchange {
  readonly head: ScoreHead
  /** When its head had arrived, in milliseconds of the monotonic clock. */
  readonly receivedAtMs: number
  /** @returns the body if all of it came with the head, else null; it can be read again */
  peekBody(): Buffer | null
  /** @returns the body if all of it is there, else null */
  readBody(): Buffer | null
  /**
   * Waits for the rest of the body. To be called after `readBody` returned null.
   *
   * @param onEnd is called once: with null when `readBody` gives the body, or with the error of a
   *   client that hung up
   */
  awaitBody(onEnd: (failure: Error | null) => void): void
  /** Sends a score, or a refusal under overload. */
  answer(headers: ScoreHeaders, text: string): void
  /** Leaves the request to Fastify, together with what is known of it. */
  fallBack(known: Fallback): void
}
