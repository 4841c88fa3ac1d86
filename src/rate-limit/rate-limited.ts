import { AppError } from '../errors.ts'

/** The refusal of a request beyond its subject's quota. */
export function rateLimited(retryAfterMs: number): AppError {
  const message = `the quota is used up: wait ${retryAfterMs} ms before the next request`
  return new AppError('rate_limited', message, { retryAfterMs })
}
