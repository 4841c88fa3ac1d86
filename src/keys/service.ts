import { LRUCache } from 'lru-cache'
import { KEY_SCOPES, RATE_LIMIT_PER_MINUTE_MAX } from '../../schemas/keys.ts'
import type { Environment, KeyCaller, Scope, UserCaller } from '../access/caller.ts'
import { type Actor, auditRecord, type NewAuditRecord } from '../audit/record.ts'
import { AppError } from '../errors.ts'
import {
  type CacheLookups,
  StaleWhileRevalidateCache,
} from '../platform/caches/stale-while-revalidate.ts'
import type { Clock } from '../platform/clock.ts'
import { isId, newId } from '../platform/ids/ids.ts'
import type { Page, PageRequest } from '../platform/paging.ts'
import { type KeyUse, LastUses } from './last-uses.ts'
import { isKeySecret, keyHashOf, keyPrefixOf, newKeySecret } from './secret.ts'

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
}

/** An active key without its hash. */
export type ActiveKey = Omit<ApiKey, 'teamId' | 'keyHash' | 'createdBy'> & {
  readonly lastUsedAt: Date | null
}

/** A change of an active key. */
export interface KeyChange {
  readonly keyId: string
  readonly teamId: string
  /** The columns that change. */
  readonly set: { readonly revokedAt: Date } | { readonly rateLimitPerMinute: number | null }
  /** Describes the change from the key's old state. */
  readonly audit: (before: ActiveKey) => NewAuditRecord
}

/** What the service needs from the database. */
export interface KeyStore {
  /** Adds the key and its audit record in one transaction. */
  add(key: ApiKey, audit: NewAuditRecord): Promise<void>
  /** The active key with this hash; null if it is unknown or revoked. */
  findActive(keyHash: string): Promise<KeyCaller | null>
  /** A team's active keys, newest first. */
  ofTeam(teamId: string, page: PageRequest): Promise<Page<ActiveKey>>
  /** Id of the team that owns an active key, or null. */
  teamOf(keyId: string): Promise<string | null>
  /**
   * Changes an active key and writes the audit record, in one transaction.
   *
   * @returns the key's hash, or null if the team has no such active key
   */
  change(change: KeyChange): Promise<string | null>
  /** Writes last uses, unless a later use is already stored. */
  noteUses(uses: readonly KeyUse[]): Promise<void>
}

interface NewKey {
  readonly name: string
  readonly scopes?: readonly string[] | undefined
  readonly environment?: Environment | undefined
  /** Absent means the service's default quota. */
  readonly rateLimitPerMinute?: number | undefined
}

interface KeyOptions {
  readonly store: KeyStore
  readonly clock: Clock
  /** Maximum time that a revoked key stays cached if no invalidation message arrives. */
  readonly ttlMs: number
  /** The same while the database is unreachable; default: `ttlMs`. */
  readonly unavailableTtlMs?: number
  /** Called with the hash of each changed key, before the response is sent. */
  readonly onChange: (keyHash: string) => void
}

const KEYS_CACHED_MAX = 100_000
const HASHES_CACHED_MAX = 20_000
const SCOPES: readonly Scope[] = KEY_SCOPES

/**
 * API keys: issues, lists, limits and revokes them, and identifies the caller of a presented key.
 */
export class KeyService {
  private readonly options: KeyOptions
  private readonly callers: StaleWhileRevalidateCache<KeyCaller>
  /**
   * Hashes of secrets that were valid once. They save hashing a busy key on each request: 3 µs.
   * Each request still checks that the key is active.
   */
  private readonly hashes = new LRUCache<string, string>({ max: HASHES_CACHED_MAX })
  private readonly lastUses: LastUses

  constructor(options: KeyOptions) {
    this.options = options
    this.callers = new StaleWhileRevalidateCache<KeyCaller>({
      load: (keyHash) => options.store.findActive(keyHash),
      clock: options.clock,
      ttlMs: options.ttlMs,
      ...(options.unavailableTtlMs && { unavailableTtlMs: options.unavailableTtlMs }),
      weightMax: KEYS_CACHED_MAX,
    })
    this.lastUses = new LastUses((uses) => options.store.noteUses(uses))
  }

  /**
   * Issues a key for the team of its creator.
   *
   * @returns the key and its secret, which is not stored and can't be shown again
   * @throws AppError `invalid_scope` for an unknown scope or an empty list
   */
  async issue(creator: UserCaller, wanted: NewKey): Promise<{ key: ApiKey; keySecret: string }> {
    const scopes = readScopes(wanted.scopes ?? ['score'])
    const epochMs = this.options.clock.epochMs()
    const keySecret = newKeySecret(wanted.environment ?? null)
    const key: ApiKey = {
      id: newId('key_', epochMs),
      teamId: creator.teamId,
      name: wanted.name,
      keyHash: keyHashOf(keySecret),
      keyPrefix: keyPrefixOf(keySecret),
      scopes,
      environment: wanted.environment ?? null,
      rateLimitPerMinute: wanted.rateLimitPerMinute ?? null,
      createdBy: creator.userId,
      createdAt: new Date(epochMs),
    }
    const limit = wanted.rateLimitPerMinute
    const after = { ...auditedFieldsOf(key), ...(limit && { rate_limit_per_minute: limit }) }
    const audit = auditRecord(creator, { action: 'key.create', subject: key.id, after }, epochMs)
    await this.options.store.add(key, audit)
    return { key, keySecret }
  }

  get lookups(): CacheLookups {
    return this.callers.lookups
  }

  /** The team's active keys, newest first. */
  list(teamId: string, page: PageRequest): Promise<Page<ActiveKey>> {
    return this.options.store.ofTeam(teamId, page)
  }

  /**
   * Returns the id of the team that owns an active key.
   *
   * @throws AppError `key_not_found`
   */
  async teamOf(keyId: string): Promise<string> {
    const teamId = isId(keyId, 'key_') ? await this.options.store.teamOf(keyId) : null
    if (teamId === null) throw keyNotFound()
    return teamId
  }

  /**
   * Revokes a key of the actor's team permanently. This process rejects it at once, other processes
   * within a second, or within their cache's time-to-live if no message reaches them.
   *
   * @throws AppError `key_not_found` for a key that is unknown, revoked or owned by another team
   */
  async revoke(actor: Actor, keyId: string): Promise<void> {
    const epochMs = this.options.clock.epochMs()
    await this.change(actor, keyId, {
      set: { revokedAt: new Date(epochMs) },
      audit: (key) => {
        const change = {
          action: 'key.revoke',
          subject: keyId,
          before: auditedFieldsOf(key),
        } as const
        return auditRecord(actor, change, epochMs)
      },
    })
  }

  /**
   * Sets the quota of a key of the actor's team.
   *
   * @param perMinute requests in any 60 s, a whole number from 1 to `RATE_LIMIT_PER_MINUTE_MAX`;
   *   null restores the service's default
   * @throws AppError `invalid_request` for any other number; `key_not_found` like `revoke`
   */
  async setLimit(actor: Actor, keyId: string, perMinute: number | null): Promise<void> {
    if (perMinute !== null && !isRateLimit(perMinute)) {
      const range = `a whole number from 1 to ${RATE_LIMIT_PER_MINUTE_MAX}`
      throw new AppError('invalid_request', `the limit per minute must be ${range}`)
    }
    await this.change(actor, keyId, {
      set: { rateLimitPerMinute: perMinute },
      audit: (key) => {
        const before = { rate_limit_per_minute: key.rateLimitPerMinute }
        const after = { rate_limit_per_minute: perMinute }
        const change = { action: 'key.set_limit', subject: keyId, before, after } as const
        return auditRecord(actor, change, this.options.clock.epochMs())
      },
    })
  }

  /** The caller with this secret; null if no active key has it. Synchronous for a cached key. */
  callerOf(keySecret: string): KeyCaller | null | Promise<KeyCaller | null> {
    return this.callerBy(keySecret, false) ?? null
  }

  /**
   * Like `callerOf`, but looks up no new key: undefined for a secret that this process does not
   * hold.
   */
  heldCallerOf(keySecret: string): KeyCaller | null | undefined | Promise<KeyCaller | null> {
    return this.callerBy(keySecret, true)
  }

  private callerBy(
    keySecret: string,
    isHeldOnly: boolean,
  ): KeyCaller | null | undefined | Promise<KeyCaller | null> {
    const known = this.hashes.get(keySecret)
    if (known === undefined && !isKeySecret(keySecret)) return undefined
    const keyHash = known ?? keyHashOf(keySecret)
    if (isHeldOnly && this.callers.isUnknown(keyHash)) return undefined
    const found = this.callers.get(keyHash)
    if (found instanceof Promise) return found.then((caller) => this.noted(caller))
    if (known === undefined && found !== null) this.hashes.set(keySecret, keyHash)
    return this.noted(found)
  }

  /**
   * Whether `callerOf` would query the database for a secret that this process has never accepted:
   * a well-formed key that is either new here or guessed.
   */
  isUnknown(keySecret: string): boolean {
    const known = this.hashes.get(keySecret)
    if (known === undefined && !isKeySecret(keySecret)) return false
    return this.callers.isUnknown(known ?? keyHashOf(keySecret))
  }

  /** Forces a lookup before the next use of a key, because it was changed or revoked. */
  invalidate(keyHash: string): void {
    this.callers.invalidate(keyHash)
  }

  /** Does the same for all keys, because any of them may have changed. */
  invalidateAll(): void {
    this.callers.invalidateAll()
  }

  /** Writes the last uses that are not written yet. */
  close(): Promise<void> {
    return this.lastUses.close()
  }

  private noted(caller: KeyCaller | null): KeyCaller | null {
    if (caller !== null) this.lastUses.note(caller.keyId, this.options.clock.epochMs())
    return caller
  }

  private async change(
    { teamId }: Actor,
    keyId: string,
    change: Pick<KeyChange, 'set' | 'audit'>,
  ): Promise<void> {
    const isPossible = isId(keyId, 'key_')
    const keyHash = isPossible
      ? await this.options.store.change({ keyId, teamId, ...change })
      : null
    if (keyHash === null) throw keyNotFound()
    this.options.onChange(keyHash)
  }
}

function keyNotFound(): AppError {
  return new AppError('key_not_found', 'there is no active key with this id')
}

function isRateLimit(value: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= RATE_LIMIT_PER_MINUTE_MAX
}

/** Fields of a key in the audit log: what identifies it to people, and what it permits. */
function auditedFieldsOf({ name, keyPrefix, scopes, environment }: ApiKey | ActiveKey) {
  return { name, prefix: keyPrefix, scopes, environment }
}

function readScopes(wanted: readonly string[]): string[] {
  const details = wanted.flatMap((scope, index) =>
    SCOPES.some((known) => known === scope)
      ? []
      : [{ path: `scopes[${index}]`, message: `is not a scope: use ${SCOPES.join(' or ')}` }],
  )
  if (wanted.length === 0) details.push({ path: 'scopes', message: 'must name at least one scope' })
  if (details.length > 0) {
    throw new AppError('invalid_scope', `a key takes the scopes ${SCOPES.join(' and ')}`, {
      details,
    })
  }
  return [...new Set(wanted)]
}
