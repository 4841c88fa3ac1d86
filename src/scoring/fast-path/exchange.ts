import type { Fallback } from './fallback.ts'
import type { ScoreHead } from './score-head.ts'

/** The headers of a score, besides those that every answer has. */
export interface ScoreHeaders {
  readonly requestId: string
  readonly quota: number
  readonly remaining: number
  /** True if it came with an `Idempotency-Key` and will not be given again. */
  readonly isNotKept: boolean
}

/** One request to score and the way to answer it, however its bytes came. */
export interface Exchange {
  readonly head: ScoreHead
  /** When its head had arrived, in milliseconds of the monotonic clock. */
  readonly receivedAtMs: number
  /** @returns the body if all of it is there, else null */
  readBody(): Buffer | null
  /**
   * Waits for the rest of the body. To be called after `readBody` returned null.
   *
   * @param onBody is called once with all bytes, or with the error of a client that hung up
   */
  awaitBody(onBody: (body: Buffer | Error) => void): void
  /** Sends a score, status 200. */
  answer(headers: ScoreHeaders, text: string): void
  /** Leaves the request to Fastify, together with what is known of it. */
  fallBack(known: Fallback): void
}
