import { AppError } from '../errors.ts'

/**
 * Reads when a secret is to end.
 *
 * @param text ISO 8601; undefined: no end was asked for
 * @param bounds `lifeMsMax`: longest time ahead in milliseconds
 * @returns null where none was asked for
 * @throws AppError `invalid_request` for a moment that is past or too far ahead
 */
export function readExpiry(
  text: string | undefined,
  { epochMs, lifeMsMax }: { readonly epochMs: number; readonly lifeMsMax: number },
): Date | null {
  if (text === undefined) return null
  const endMs = Date.parse(text)
  if (endMs > epochMs && endMs - epochMs <= lifeMsMax) return new Date(endMs)
  const message = `must be ahead, at most ${Math.floor(lifeMsMax / 86_400_000)} days`
  const details = [{ path: 'expires_at', message }]
  throw new AppError('invalid_request', `expires_at ${message}`, { details })
}
