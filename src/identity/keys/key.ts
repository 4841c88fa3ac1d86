import { AppError } from '../../errors.ts'
import type { Environment, KeyCaller } from '../../http/access/caller.ts'
import type { PresentManager } from '../../http/access/manager.ts'
import type { NewAuditRecord } from '../audit/record.ts'

export interface ApiKey {
  readonly id: string
  readonly teamId: string
  readonly name: string
  readonly keyHash: string
  readonly keyPrefix: string
  readonly scopes: string[]
  readonly environment: Environment | null
  /** Null means the service's default quota. */
  readonly rateLimitPerMinute: number | null
  readonly createdBy: string
  readonly createdAt: Date
  /** Null: it does not end. */
  readonly expiresAt: Date | null
  /** Addresses and CIDRs from which it is accepted; null: from any. */
  readonly allowedAddresses: string[] | null
}

/** An active key without its hash. */
export type ActiveKey = Omit<ApiKey, 'teamId' | 'keyHash'> & {
  readonly lastUsedAt: Date | null
}

/** @param manager whoever makes a change, as they are now; null if they were removed */
export type AdmitManager = (manager: PresentManager | null) => void

export interface KeyChange {
  readonly keyId: string
  readonly teamId: string
  /** Throws if its actor may no longer make the change; null: the operator may. */
  readonly admitted: { readonly userId: string; readonly admit: AdmitManager } | null
  /** The columns that change, from the key's old state. */
  readonly set: (before: ActiveKey) => KeyColumns
  /** Describes the change from the key's old state. */
  readonly audit: (before: ActiveKey) => NewAuditRecord
}

type KeyColumns = { readonly revokedAt: Date } | KeySettings | KeyRotation

/** Settings of a key that can change while it keeps its secret. */
export interface KeySettings {
  readonly name?: string
  /** Null: the service's default quota. */
  readonly rateLimitPerMinute?: number | null
}

interface KeyRotation {
  readonly keyHash: string
  readonly keyPrefix: string
  /** The end of the key from now on; null: none. */
  readonly expiresAt: Date | null
  /** Until when the present secret stays valid. */
  readonly previousUntil: Date
}

/** Facts that the database has of a secret. */
export type StoredCaller = Omit<KeyCaller, 'admitsAddress'> & {
  readonly allowedAddresses: readonly string[] | null
}

/** Fields of a key in every response. */
export function keyFields(key: Omit<ActiveKey, 'lastUsedAt'>) {
  return {
    id: key.id,
    name: key.name,
    prefix: key.keyPrefix,
    scopes: key.scopes,
    environment: key.environment,
    created_by: key.createdBy,
    created_at: key.createdAt.toISOString(),
    expires_at: key.expiresAt?.toISOString() ?? null,
    allowed_addresses: key.allowedAddresses,
    ...(key.rateLimitPerMinute !== null && { rate_limit_per_minute: key.rateLimitPerMinute }),
  }
}

export function listedKey(key: ActiveKey) {
  return { ...keyFields(key), last_used_at: key.lastUsedAt?.toISOString() ?? null }
}

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
