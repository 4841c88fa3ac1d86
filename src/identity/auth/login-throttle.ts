import { AppError } from '../../errors.ts'

/** Wrong passwords in any `FAILURES_WINDOW_MS`, for each of the subjects of a login. */
export const FAILURES_MAX = 10
export const FAILURES_WINDOW_MS = 60_000

/** Called once, when a check has ended. */
export type EndOfCheck = (isRight: boolean) => Promise<void>

/**
 * Bounds how often passwords can be guessed. It counts by what a guesser can't change at will: the
 * subjects of a login are the client's address and the email. At most `FAILURES_MAX` checks of a
 * subject fail in any `FAILURES_WINDOW_MS`. Then no check begins until the oldest of these failures
 * leaves the window.
 * Right passwords don't count.
 */
export interface LoginThrottle {
  /**
   * Refuses a guesser before they cost anything.
   *
   * @throws AppError `rate_limited`, whatever the password would have been
   */
  refuseSpent(subjects: readonly string[]): Promise<void>
  /**
   * Begins a check. While checks that run could still use up what is left, it waits for them: a
   * guess too many is never checked, and of many right passwords at once none is refused.
   *
   * @returns to be called when the check has ended
   * @throws AppError `rate_limited` as `refuseSpent`
   */
  begin(subjects: readonly string[]): Promise<EndOfCheck>
}

/**
 * The one refusal: which subject it is for would tell a guesser how far others have come.
 *
 * @param waitMs until the oldest failure leaves the window, above 0
 */
export function tooManyFailures(waitMs: number): AppError {
  const message = 'too many sign-ins have failed, try again later'
  return new AppError('rate_limited', message, { retryAfterMs: Math.ceil(waitMs) })
}
