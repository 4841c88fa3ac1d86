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
