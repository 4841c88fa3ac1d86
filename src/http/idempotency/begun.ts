import { AppError } from '../../errors.ts'
import type { IdempotencyClaim } from '../access/caller.ts'
import type { ScoreClaim } from './score-claims/score-claim.ts'
import type { KeptAnswer } from './sealer.ts'

/**
 * The way on for a request: it is answered from what is kept, executed under a claim, or executed
 * without.
 */
export type Begun =
  | { readonly kind: 'answered'; readonly answer: KeptAnswer }
  | Claimed
  | { readonly kind: 'not-kept' }

/** A claim; that of a score where the log keeps the answer. */
export type Claimed =
  | { readonly kind: 'claimed'; readonly claim: IdempotencyClaim }
  | { readonly kind: 'claimed-score'; readonly claim: ClaimedScore }

/**
 * The end of a request with a claim: it has failed; it has failed, but its score is logged; or it
 * has this answer.
 */
export type ClaimEnd = 'failed' | 'logged' | (() => KeptAnswer)

/** The right of one request for a score to be the one that is executed for its key. */
export interface ClaimedScore extends ScoreClaim {
  /** Key and body, hashed, for the record of the score. */
  readonly logged: { readonly keyHash: Uint8Array; readonly bodyHash: Uint8Array }
  /** From then on its answer may not be given again: milliseconds of the monotonic clock. */
  readonly sureUntilMs: number
}

/** Key and body for the record of a score; null where the log does not keep its answer. */
export function readLoggedKey(claimed: Claimed | null): ClaimedScore['logged'] | null {
  return claimed?.kind === 'claimed-score' ? claimed.claim.logged : null
}

/** Time for which a client is asked to wait for a request that is under way. */
const RETRY_AFTER_MS = 1_000

/** Counts what becomes of requests with a key. */
export class KeyCounts {
  claimed = 0
  answered = 0
  reused = 0
  in_progress = 0
  lost = 0
  not_kept = 0

  answeredWith(answer: KeptAnswer): Begun {
    this.answered++
    return { kind: 'answered', answer }
  }

  notKept(): Begun {
    this.not_kept++
    return { kind: 'not-kept' }
  }

  reusedError(): AppError {
    this.reused++
    const message = 'this Idempotency-Key came with another body: use a new key for a new request'
    return new AppError('idempotency_key_reused', message)
  }

  underWayError(): AppError {
    this.in_progress++
    const message = 'the first request with this Idempotency-Key is under way: send it again later'
    return new AppError('idempotency_in_progress', message, { retryAfterMs: RETRY_AFTER_MS })
  }

  /** The first request was executed, and what its answer is made of can't be read yet. */
  unreadError(): AppError {
    this.in_progress++
    const message =
      'the score of the first request with this Idempotency-Key is on its way to the database: ' +
      'send it again later'
    return new AppError('unavailable', message, { retryAfterMs: RETRY_AFTER_MS })
  }

  lostError(): AppError {
    const message =
      'a request with this Idempotency-Key made its change, but its answer was lost: ' +
      'read the present state, and use a new key for a further change'
    return this.lostWith(message)
  }

  /** A batch was logged, and its answer is not made again. */
  lostBatchError(requestId: string): AppError {
    const message =
      'a batch with this Idempotency-Key was scored and logged, but its answer was lost: ' +
      `read its scores with GET /v1/scores/${requestId}`
    return this.lostWith(message)
  }

  private lostWith(message: string): AppError {
    this.lost++
    return new AppError('idempotency_answer_lost', message)
  }
}
