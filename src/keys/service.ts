import { auditRecord, type NewAuditRecord } from '../audit/record.ts'
import type { Environment, KeyCaller, Scope, UserCaller } from '../auth/caller.ts'
import type { Clock } from '../clock.ts'
import { AppError } from '../errors.ts'
import { newId } from '../ids.ts'
import { RecheckedCache } from '../rechecked-cache.ts'
import { isKeySecret, keyHashOf, keyPrefixOf, newKeySecret } from './secret.ts'

export interface ApiKey {
  readonly id: string
  readonly teamId: string
  readonly name: string
  readonly keyHash: string
  readonly keyPrefix: string
  readonly scopes: string[]
  readonly environment: Environment | null
  readonly createdBy: string
  readonly createdAt: Date
}

/** What the service needs of the database. */
export interface KeyStore {
  /** Adds the key and its audit record in one transaction. */
  add(key: ApiKey, audit: NewAuditRecord): Promise<void>
  /** The key that is in force, or null when there is none or it was revoked. */
  inForce(keyHash: string): Promise<KeyCaller | null>
}

export interface NewKey {
  readonly name: string
  readonly scopes?: readonly string[] | undefined
  readonly environment?: Environment | undefined
}

export interface KeyOptions {
  readonly store: KeyStore
  readonly clock: Clock
  /** Longest time that a revoked key goes unnoticed where no message tells of it. */
  readonly ttlMs: number
}

const KEYS_CACHED_MAX = 100_000
const SCOPES: readonly Scope[] = ['score', 'read']

/** API keys: issue them, and tell whose a presented one is. */
export class KeyService {
  private readonly options: KeyOptions
  private readonly callers: RecheckedCache<KeyCaller>

  constructor(options: KeyOptions) {
    this.options = options
    this.callers = new RecheckedCache<KeyCaller>({
      load: (keyHash) => options.store.inForce(keyHash),
      clock: options.clock,
      ttlMs: options.ttlMs,
      weightMax: KEYS_CACHED_MAX,
    })
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
      createdBy: creator.userId,
      createdAt: new Date(epochMs),
    }
    const after = { name: key.name, prefix: key.keyPrefix, scopes, environment: key.environment }
    const audit = auditRecord(creator, { action: 'key.create', subject: key.id, after }, epochMs)
    await this.options.store.add(key, audit)
    return { key, keySecret }
  }

  /** Whose key a presented secret is; null for none that is in force. At once for a warm key. */
  callerOf(keySecret: string): KeyCaller | null | Promise<KeyCaller | null> {
    return isKeySecret(keySecret) ? this.callers.get(keyHashOf(keySecret)) : null
  }
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
