import { AppError } from '../../errors.ts'

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
  const message = `must be in the future, at most ${Math.floor(lifeMsMax / 86_400_000)} days from now`
  const details = [{ path: 'expires_at', message }]
  throw new AppError('invalid_request', `expires_at ${message}`, { details })
}

/**
 * When the new secret of a rotation ends: as asked, else when the one before it does.
 *
 * @param wanted from `readExpiry`; null: no end was asked for
 * @param present the end before the rotation; null: none
 * @throws AppError `invalid_request` if the new secret would have expired already
 */
export function rotatedExpiry<End extends Date | null>(
  wanted: Date | null,
  present: End,
  epochMs: number,
): Date | End {
  if (wanted !== null) return wanted
  if (present === null || present.getTime() > epochMs) return present
  const message = `is required, because the present end is past: ${present.toISOString()}`
  const details = [{ path: 'expires_at', message }]
  throw new AppError('invalid_request', `expires_at ${message}`, { details })
}

/**
 * When the secret before a rotation ends: after the overlap, but never later than without the
 * rotation. What has expired is not revived.
 *
 * @param previousEnd the end before the rotation; null: none
 * @returns a moment that is not after `epochMs` if the secret ends at once
 */
export function previousSecretEnd(
  previousEnd: Date | null,
  { epochMs, overlapSeconds }: { readonly epochMs: number; readonly overlapSeconds: number },
): Date {
  const endMs = previousEnd?.getTime() ?? Number.POSITIVE_INFINITY
  return new Date(Math.min(epochMs + overlapSeconds * 1000, endMs))
}
