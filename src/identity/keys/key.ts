import type { Environment, KeyCaller } from '../access/caller.ts'
import type { PresentManager } from '../access/manager.ts'
import type { NewAuditRecord } from '../audit/record.ts'
import type { Page, PageRequest } from '../platform/paging.ts'
import type { KeyUse } from './last-uses.ts'

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

/** A change of an active key. */
export interface KeyChange {
  readonly keyId: string
  readonly teamId: string
  /** Throws if its actor may no longer make the change; absent: the route has checked. */
  readonly admitted?: { readonly userId: string; readonly admit: AdmitManager }
  /** The columns that change, from the key's old state. */
  readonly set: (before: ActiveKey) => KeyColumns
  /** Describes the change from the key's old state. */
  readonly audit: (before: ActiveKey) => NewAuditRecord
}

export type KeyColumns =
  | { readonly revokedAt: Date }
  | { readonly rateLimitPerMinute: number | null }
  | KeyRotation

/** A new secret of a key. */
export interface KeyRotation {
  readonly keyHash: string
  readonly keyPrefix: string
  /** The end of the key from now on; null: none. */
  readonly expiresAt: Date | null
  /** Until when the present secret stays valid. */
  readonly previousUntil: Date
}

/** What the database knows of a secret. */
export type StoredCaller = Omit<KeyCaller, 'admitsAddress'> & {
  readonly allowedAddresses: readonly string[] | null
}

/** What the service needs from the database. */
export interface KeyStore {
  /**
   * Adds the key and its audit record in one transaction.
   *
   * @param admit throws if its maker may no longer make it
   */
  add(key: ApiKey, audit: NewAuditRecord, admit: AdmitManager): Promise<void>
  /** The active key with a secret, present or previous, of this hash; null if there is none. */
  findActive(keyHash: string): Promise<StoredCaller | null>
  /** A team's active keys, newest first. */
  ofTeam(teamId: string, page: PageRequest): Promise<Page<ActiveKey>>
  /** Id of the team that owns an active key, or null. */
  teamOf(keyId: string): Promise<string | null>
  /**
   * Changes an active key and writes the audit record, in one transaction.
   *
   * @returns the key before the change with the hashes of its secrets, or null if the team has no
   *   such active key
   */
  change(change: KeyChange): Promise<{ key: ActiveKey; hashes: readonly string[] } | null>
  /** Writes last uses, unless a later use is already stored. */
  noteUses(uses: readonly KeyUse[]): Promise<void>
}
