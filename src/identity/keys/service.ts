import { LRUCache } from 'lru-cache'
import { KEY_LIFE_DAYS_MAX, KEY_SCOPES, RATE_LIMIT_PER_MINUTE_MAX } from '../../../schemas/keys.ts'
import { AppError } from '../../errors.ts'
import type { Environment, KeyCaller, Role, Scope, UserCaller } from '../../http/access/caller.ts'
import { type PresentManager, requireManager } from '../../http/access/manager.ts'
import { isNetwork, networkMatcher } from '../../http/client-network.ts'
import {
  type CacheLookups,
  StaleWhileRevalidateCache,
} from '../../platform/caches/stale-while-revalidate.ts'
import type { Clock } from '../../platform/clock.ts'
import { isId, newId } from '../../platform/ids.ts'
import type { Page, PageRequest } from '../../platform/paging.ts'
import { type Actor, auditRecord, OPERATOR } from '../audit/record.ts'
import {
  type ActiveKey,
  type ApiKey,
  type KeyChange,
  type KeySettings,
  previousSecretEnd,
  readExpiry,
  rotatedExpiry,
  type StoredCaller,
} from './key.ts'
import { LastUses } from './last-uses.ts'
import { hashKey, isKeySecret, newKeySecret, readKeyPrefix } from './secret.ts'
import type { KeyStore } from './store.ts'

interface NewKey {
  readonly name: string
  readonly scopes?: readonly string[] | undefined
  readonly environment?: Environment | undefined
  /** Absent means the service's default quota. */
  readonly rateLimitPerMinute?: number | undefined
  /** ISO 8601; absent: it does not end. */
  readonly expiresAt?: string | undefined
  /** Addresses and CIDRs; absent: any. */
  readonly allowedAddresses?: readonly string[] | undefined
}

/** A key with a secret that can't be shown again. */
interface Rotated {
  readonly key: Omit<ActiveKey, 'lastUsedAt'>
  readonly keySecret: string
  /** Until when the secret before it is valid; null if it no longer is. */
  readonly previousUntil: Date | null
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

const LIFE_MS_MAX = KEY_LIFE_DAYS_MAX * 86_400_000
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
      load: async (keyHash) => callerFrom(await options.store.findActive(keyHash)),
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
   * @throws AppError `invalid_scope` for an unknown scope or an empty list; `invalid_request` for
   *   an end that is past or too far ahead, and for a text that is not an address or CIDR;
   *   `insufficient_role` and `unauthorized` unless the creator still is an owner or admin
   */
  async issue(creator: UserCaller, wanted: NewKey): Promise<{ key: ApiKey; keySecret: string }> {
    const scopes = readScopes(wanted.scopes ?? ['score'])
    const epochMs = this.options.clock.epochMs()
    const expiresAt = readExpiry(wanted.expiresAt, { epochMs, lifeMsMax: LIFE_MS_MAX })
    const allowedAddresses = readAddresses(wanted.allowedAddresses)
    const keySecret = newKeySecret(wanted.environment ?? null)
    const key: ApiKey = {
      id: newId('key_', epochMs),
      teamId: creator.teamId,
      name: wanted.name,
      keyHash: hashKey(keySecret),
      keyPrefix: readKeyPrefix(keySecret),
      scopes,
      environment: wanted.environment ?? null,
      rateLimitPerMinute: wanted.rateLimitPerMinute ?? null,
      createdBy: creator.userId,
      createdAt: new Date(epochMs),
      expiresAt,
      allowedAddresses,
    }
    const limit = wanted.rateLimitPerMinute
    const after = { ...readAuditedFields(key), ...(limit && { rate_limit_per_minute: limit }) }
    const audit = auditRecord(creator, { action: 'key.create', subject: key.id, after }, epochMs)
    const admit = (maker: PresentManager | null) => {
      const { role } = requireManager(maker)
      if (wanted.rateLimitPerMinute !== undefined) refuseQuotaUnlessOwner(role)
    }
    await this.options.store.add(key, audit, admit)
    this.options.onChange(key.keyHash)
    return { key, keySecret }
  }

  /**
   * Gives a key of the actor's team a new secret. A secret from an earlier rotation ends at once.
   *
   * @param order `overlapSeconds`: how long the present secret stays valid, 0 or more, unless it
   *   ends before
   * @throws AppError `key_not_found`; `invalid_request` for an end that is past or too far
   *   ahead, and without one for a key that has expired
   */
  async rotate(
    actor: Actor,
    keyId: string,
    order: { readonly overlapSeconds: number; readonly expiresAt?: string | undefined },
  ): Promise<Rotated> {
    const epochMs = this.options.clock.epochMs()
    const end = readExpiry(order.expiresAt, { epochMs, lifeMsMax: LIFE_MS_MAX })
    const { overlapSeconds } = order
    let keySecret = ''
    const before = await this.change(actor, keyId, {
      set: ({ environment, expiresAt }) => {
        keySecret = newKeySecret(environment)
        const previousUntil = previousSecretEnd(expiresAt, { epochMs, overlapSeconds })
        const next = { keyHash: hashKey(keySecret), keyPrefix: readKeyPrefix(keySecret) }
        return { ...next, previousUntil, expiresAt: rotatedExpiry(end, expiresAt, epochMs) }
      },
      audit: (key) => {
        const keyPrefix = readKeyPrefix(keySecret)
        const next = { ...key, keyPrefix, expiresAt: end ?? key.expiresAt }
        const after = { ...readAuditedFields(next), overlap_seconds: overlapSeconds }
        const change = { action: 'key.rotate', subject: keyId, after } as const
        return auditRecord(actor, { ...change, before: readAuditedFields(key) }, epochMs)
      },
    })
    const previousUntil = previousSecretEnd(before.expiresAt, { epochMs, overlapSeconds })
    return {
      key: { ...before, keyPrefix: readKeyPrefix(keySecret), expiresAt: end ?? before.expiresAt },
      keySecret,
      previousUntil: previousUntil.getTime() <= epochMs ? null : previousUntil,
    }
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
  async findTeam(keyId: string): Promise<string> {
    const teamId = isId(keyId, 'key_') ? await this.options.store.findTeam(keyId) : null
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
      set: () => ({ revokedAt: new Date(epochMs) }),
      audit: (key) => {
        const change = {
          action: 'key.revoke',
          subject: keyId,
          before: readAuditedFields(key),
        } as const
        return auditRecord(actor, change, epochMs)
      },
    })
  }

  /**
   * Changes the name or quota of a key of the actor's team. It is in force like a revocation.
   *
   * @param wanted a quota is a whole number from 1 to `RATE_LIMIT_PER_MINUTE_MAX`
   * @returns the key after the change
   * @throws AppError `invalid_request` for any other quota; `insufficient_role` and `unauthorized`
   *   unless the actor still is the operator, an owner, or an admin who sets no quota;
   *   `key_not_found` like `revoke`
   */
  async update(actor: Actor, keyId: string, wanted: KeySettings): Promise<ActiveKey> {
    const { rateLimitPerMinute: limit } = wanted
    if (limit !== undefined && limit !== null && !isRateLimit(limit)) {
      const range = `a whole number from 1 to ${RATE_LIMIT_PER_MINUTE_MAX}`
      throw new AppError('invalid_request', `the limit per minute must be ${range}`)
    }
    const admit = (manager: PresentManager | null) => {
      const { role } = requireManager(manager)
      if (limit !== undefined) refuseQuotaUnlessOwner(role)
    }
    const action = wanted.name === undefined ? 'key.set_limit' : 'key.update'
    const change: Pick<KeyChange, 'set' | 'audit'> = {
      set: () => wanted,
      audit: (key) => {
        const [before, after] = [settingsIn(key, wanted), settingsIn({ ...key, ...wanted }, wanted)]
        const what = { action, subject: keyId, before, after } as const
        return auditRecord(actor, what, this.options.clock.epochMs())
      },
    }
    const before = await this.change(actor, keyId, change, admit)
    return { ...before, ...wanted }
  }

  /** The caller with this secret; null if no active key has it. Synchronous for a cached key. */
  findCaller(keySecret: string): KeyCaller | null | Promise<KeyCaller | null> {
    return this.callerBy(keySecret, false) ?? null
  }

  /**
   * Like `findCaller`, but looks up no new key: undefined for a secret that this process does not
   * hold.
   */
  findHeldCaller(keySecret: string): KeyCaller | null | undefined | Promise<KeyCaller | null> {
    return this.callerBy(keySecret, true)
  }

  private callerBy(
    keySecret: string,
    isHeldOnly: boolean,
  ): KeyCaller | null | undefined | Promise<KeyCaller | null> {
    const known = this.hashes.get(keySecret)
    if (known === undefined && !isKeySecret(keySecret)) return undefined
    const keyHash = known ?? hashKey(keySecret)
    if (isHeldOnly && this.callers.isUnknown(keyHash)) return undefined
    const found = this.callers.get(keyHash)
    if (found instanceof Promise) return found.then((caller) => this.noted(caller))
    if (known === undefined && found !== null) this.hashes.set(keySecret, keyHash)
    return this.noted(found)
  }

  /**
   * Tells whether `findCaller` would query the database for a secret that this process has never
   * accepted: a well-formed key that is either new here or guessed.
   */
  isUnknown(keySecret: string): boolean {
    const known = this.hashes.get(keySecret)
    if (known === undefined && !isKeySecret(keySecret)) return false
    return this.callers.isUnknown(known ?? hashKey(keySecret))
  }

  /** Forces a lookup before the next use of a key, because it was changed or revoked. */
  invalidate(keyHash: string): void {
    this.callers.invalidate(keyHash)
  }

  /** Does the same for all keys, because any of them may have changed. */
  invalidateAll(): void {
    this.callers.invalidateAll()
  }

  isUnknownHash(keyHash: string): boolean {
    return this.callers.isUnknown(keyHash)
  }

  /** Loads a key before it is presented, or looks at it again. */
  warm(keyHash: string): unknown {
    return this.callers.get(keyHash)
  }

  /** Writes the last uses that are not written yet. */
  close(): Promise<void> {
    return this.lastUses.close()
  }

  private noted(caller: KeyCaller | null): KeyCaller | null {
    if (caller === null) return null
    const epochMs = this.options.clock.epochMs()
    if (caller.expiresAtMs <= epochMs) return null
    this.lastUses.note(caller.keyId, epochMs)
    return caller
  }

  private async change(
    { teamId, userId }: Actor,
    keyId: string,
    change: Pick<KeyChange, 'set' | 'audit'>,
    admit: (manager: PresentManager | null) => void = requireManager,
  ): Promise<ActiveKey> {
    const isPossible = isId(keyId, 'key_')
    const admitted = userId === OPERATOR ? null : { userId, admit }
    const changed = isPossible
      ? await this.options.store.change({ keyId, teamId, admitted, ...change })
      : null
    if (changed === null) throw keyNotFound()
    for (const keyHash of changed.hashes) this.options.onChange(keyHash)
    return changed.key
  }
}

/**
 * Quotas of keys are an owner's.
 *
 * @throws AppError `insufficient_role`
 */
export function refuseQuotaUnlessOwner(role: Role): void {
  if (role === 'owner') return
  throw new AppError('insufficient_role', 'only an owner may set rate_limit_per_minute')
}

function callerFrom(stored: StoredCaller | null): KeyCaller | null {
  if (stored === null) return null
  const { allowedAddresses, ...caller } = stored
  return { ...caller, admitsAddress: allowedAddresses && networkMatcher(allowedAddresses) }
}

/** @throws AppError `invalid_request` naming each text that is not an address or CIDR */
function readAddresses(wanted: readonly string[] | undefined): string[] | null {
  if (wanted === undefined) return null
  const message = 'must be an address or CIDR, such as 192.0.2.0/24 or 2001:db8::/32, and not /0'
  const details = wanted.flatMap((text, index) =>
    isNetwork(text) ? [] : [{ path: `allowed_addresses[${index}]`, message }],
  )
  if (details.length === 0) return [...new Set(wanted)]
  throw new AppError('invalid_request', `allowed_addresses ${message}`, { details })
}

function keyNotFound(): AppError {
  return new AppError('key_not_found', 'there is no active key with this id')
}

function isRateLimit(value: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= RATE_LIMIT_PER_MINUTE_MAX
}

/** The settings that change, in the form of the audit log. */
function settingsIn({ name, rateLimitPerMinute }: ActiveKey, wanted: KeySettings) {
  return {
    ...('name' in wanted && { name }),
    ...('rateLimitPerMinute' in wanted && { rate_limit_per_minute: rateLimitPerMinute }),
  }
}

/** Fields of a key in the audit log: what identifies it to people, and what it permits. */
function readAuditedFields(key: ApiKey | ActiveKey) {
  const { name, keyPrefix, scopes, environment, expiresAt, allowedAddresses } = key
  return {
    name,
    prefix: keyPrefix,
    scopes,
    environment,
    ...(expiresAt && { expires_at: expiresAt.toISOString() }),
    ...(allowedAddresses && { allowed_addresses: allowedAddresses }),
  }
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
