import { LRUCache } from 'lru-cache'
import { RATE_LIMIT_PER_MINUTE_MAX } from '../../schemas/keys.ts'
import { type Actor, auditRecord, type NewAuditRecord } from '../audit/record.ts'
import type { Environment, KeyCaller, Scope, UserCaller } from '../auth/caller.ts'
import type { Clock } from '../clock.ts'
import { AppError } from '../errors.ts'
import { isId, newId } from '../ids.ts'
import type { Page, PageRequest } from '../paging.ts'
import { type CacheLookups, RecheckedCache } from '../rechecked-cache.ts'
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

/** What may be told of a key that is in force. */
export type KeyInForce = Omit<ApiKey, 'teamId' | 'keyHash' | 'createdBy'> & {
  readonly lastUsedAt: Date | null
}

/** A key that is in force, and what is to be done with it. */
export interface KeyChange {
  readonly keyId: string
  readonly teamId: string
  /** The columns that change. */
  readonly set: { readonly revokedAt: Date } | { readonly rateLimitPerMinute: number | null }
  /** Describes the change of the key, given as it was before. */
  readonly audit: (before: KeyInForce) => NewAuditRecord
}

/** What the service needs of the database. */
export interface KeyStore {
  /** Adds the key and its audit record in one transaction. */
  add(key: ApiKey, audit: NewAuditRecord): Promise<void>
  /** The key that is in force, or null when there is none or it was revoked. */
  inForce(keyHash: string): Promise<KeyCaller | null>
  /** A team's keys in force, newest first. */
  ofTeam(teamId: string, page: PageRequest): Promise<Page<KeyInForce>>
  /** Whose a key in force is, or null. */
  teamOf(keyId: string): Promise<string | null>
  /**
   * Changes a key in force and writes the audit record, in one transaction.
   *
   * @returns the key's hash, or null when the team has no such key in force
   */
  change(change: KeyChange): Promise<string | null>
  /** Writes when keys were last used, where that is later than what is written. */
  noteUses(uses: readonly KeyUse[]): Promise<void>
}

export interface NewKey {
  readonly name: string
  readonly scopes?: readonly string[] | undefined
  readonly environment?: Environment | undefined
  /** Left out: the service's default quota. */
  readonly rateLimitPerMinute?: number | undefined
}

export interface KeyOptions {
  readonly store: KeyStore
  readonly clock: Clock
  /** Longest time that a revoked key goes unnoticed where no message tells of it. */
  readonly ttlMs: number
  /** The same while the database is away; `ttlMs` when absent. */
  readonly unavailableTtlMs?: number
  /** Told of the hash of each key that changed, before its change is answered. */
  readonly onChange: (keyHash: string) => void
}

const KEYS_CACHED_MAX = 100_000
const HASHES_CACHED_MAX = 20_000
const SCOPES: readonly Scope[] = ['score', 'read']

/** API keys: issue, list, limit and revoke them, and tell whose a presented one is. */
export class KeyService {
  private readonly options: KeyOptions
  private readonly callers: RecheckedCache<KeyCaller>
  /**
   * Hashes of secrets that were proven, so that a busy key is not hashed for each request: 3 µs. Whether
   * it is in force is asked all the same.
   */
  private readonly hashes = new LRUCache<string, string>({ max: HASHES_CACHED_MAX })
  private readonly lastUses: LastUses

  constructor(options: KeyOptions) {
    this.options = options
    this.callers = new RecheckedCache<KeyCaller>({
      load: (keyHash) => options.store.inForce(keyHash),
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
   * @returns the key and its secret, which is not kept and can't be shown again
   * @throws AppError `invalid_scope` for a scope that is none, or no scope at all
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

  /** The team's keys that are in force, newest first. */
  list(teamId: string, page: PageRequest): Promise<Page<KeyInForce>> {
    return this.options.store.ofTeam(teamId, page)
  }

  /**
   * Whose a key in force is.
   *
   * @returns the id of its team
   * @throws AppError `key_not_found`
   */
  async teamOf(keyId: string): Promise<string> {
    const teamId = isId(keyId, 'key_') ? await this.options.store.teamOf(keyId) : null
    if (teamId === null) throw keyNotFound()
    return teamId
  }

  /**
   * Ends a key of the actor's team for good. This process refuses it from now on, others within a
   * second, or within their cache's time-to-live where no message reaches them.
   *
   * @throws AppError `key_not_found` for a key that is unknown, revoked, or another team's
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
   * Gives a key of the actor's team a quota of its own, or with null the service's default.
   *
   * @param perMinute requests in any 60 s, a whole number from 1 to `RATE_LIMIT_PER_MINUTE_MAX`
   * @throws AppError `invalid_request` for another number; `key_not_found` as `revoke`
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

  /** Whose key a presented secret is; null for none that is in force. At once for a warm key. */
  callerOf(keySecret: string): KeyCaller | null | Promise<KeyCaller | null> {
    const known = this.hashes.get(keySecret)
    if (known === undefined && !isKeySecret(keySecret)) return null
    const keyHash = known ?? keyHashOf(keySecret)
    const found = this.callers.get(keyHash)
    if (found instanceof Promise) return found.then((caller) => this.noted(caller))
    if (known === undefined && found !== null) this.hashes.set(keySecret, keyHash)
    return this.noted(found)
  }

  /** Tells that a key was changed or revoked: it is looked up before it is let in again. */
  expire(keyHash: string): void {
    this.callers.expire(keyHash)
  }

  /** Tells that any key may have been changed. */
  mistrust(): void {
    this.callers.mistrust()
  }

  /** Writes the uses of keys that are not written yet. */
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
  return new AppError('key_not_found', 'there is no key in force with this id')
}

function isRateLimit(value: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= RATE_LIMIT_PER_MINUTE_MAX
}

/** What the audit log tells of a key: what people know it by, and what it opens. */
function auditedFieldsOf({ name, keyPrefix, scopes, environment }: ApiKey | KeyInForce) {
  return { name, prefix: keyPrefix, scopes, environment }
}

function readScopes(wanted: readonly string[]): string[] {
  const details = wanted.flatMap((scope, index) =>
    SCOPES.some((known) => known === scope)
      ? []
      : [{ path: `scopes[${index}]`, message: `is no scope: use ${SCOPES.join(' or ')}` }],
  )
  if (wanted.length === 0) details.push({ path: 'scopes', message: 'must name at least one scope' })
  if (details.length > 0) {
    throw new AppError('invalid_scope', `a key takes the scopes ${SCOPES.join(' and ')}`, {
      details,
    })
  }
  return [...new Set(wanted)]
}
