import { ACCOUNT_LIFE_DAYS, ACCOUNT_LIFE_DAYS_MAX } from '../../../schemas/service-accounts.ts'
import { AppError } from '../../errors.ts'
import { outranks, type Role, type UserCaller } from '../../http/access/caller.ts'
import { requireManager } from '../../http/access/manager.ts'
import {
  type CacheLookups,
  StaleWhileRevalidateCache,
} from '../../platform/caches/stale-while-revalidate.ts'
import type { Clock } from '../../platform/clock.ts'
import { isId, newId } from '../../platform/ids.ts'
import type { Page, PageRequest } from '../../platform/paging.ts'
import { auditRecord, type NewAuditRecord } from '../audit/record.ts'
import { previousSecretEnd, readExpiry, rotatedExpiry } from '../keys/key.ts'
import { LastUses } from '../keys/last-uses.ts'
import { hashKey, isAccountToken, newAccountToken, readKeyPrefix } from '../keys/secret.ts'
import type { AccountChange, ServiceAccount, ServiceAccountStore, TokenHolder } from './store.ts'

export type { ServiceAccount } from './store.ts'

interface ServiceAccountOptions {
  readonly store: ServiceAccountStore
  readonly clock: Clock
  /** Longest time that a revoked token stays cached if no invalidation message arrives. */
  readonly ttlMs: number
  /** Called with each hash that a change concerns, before the response is sent. */
  readonly onChange: (tokenHash: string) => void
}

export interface Issued {
  readonly account: Omit<ServiceAccount, 'lastUsedAt'>
  readonly token: string
  /** Until when the token before it is valid; null if there is none. */
  readonly previousUntil: Date | null
}

const ACCOUNTS_CACHED_MAX = 10_000
const DAY_MS = 86_400_000
const LIFE_MS = ACCOUNT_LIFE_DAYS * DAY_MS
const LIFE_MS_MAX = ACCOUNT_LIFE_DAYS_MAX * DAY_MS

/** Service accounts: makes, lists, rotates and revokes them, and proves their tokens. */
export class ServiceAccountService {
  private readonly options: ServiceAccountOptions
  private readonly holders: StaleWhileRevalidateCache<TokenHolder>
  private readonly lastUses: LastUses

  constructor(options: ServiceAccountOptions) {
    this.options = options
    this.holders = new StaleWhileRevalidateCache<TokenHolder>({
      load: (tokenHash) => options.store.findHolder(tokenHash),
      clock: options.clock,
      ttlMs: options.ttlMs,
      weightMax: ACCOUNTS_CACHED_MAX,
    })
    this.lastUses = new LastUses((uses) => options.store.noteUses(uses))
  }

  /**
   * Makes an account in the maker's team.
   *
   * @param wanted `expiresAt` as ISO 8601; absent: 90 days ahead
   * @returns the account and its token, which is not stored and can't be shown again
   * @throws AppError `insufficient_role` for a role that is not below the maker's;
   *   `invalid_request` for an end that is past or too far ahead
   */
  async create(
    maker: UserCaller,
    wanted: {
      readonly name: string
      readonly role: Role
      readonly expiresAt?: string | undefined
    },
  ): Promise<Issued> {
    refuseUnlessBelow(maker.role, wanted.role)
    const epochMs = this.options.clock.epochMs()
    const end = readExpiry(wanted.expiresAt, { epochMs, lifeMsMax: LIFE_MS_MAX })
    const token = newAccountToken()
    const account = {
      id: newId('svc_', epochMs),
      teamId: maker.teamId,
      name: wanted.name,
      role: wanted.role,
      tokenPrefix: readKeyPrefix(token),
      createdBy: maker.userId,
      createdAt: new Date(epochMs),
      expiresAt: end ?? new Date(epochMs + LIFE_MS),
    }
    const after = readAuditedFields(account)
    const change = { action: 'service_account.create', subject: account.id, after } as const
    const audit = auditRecord(maker, change, epochMs)
    await this.options.store.add({ ...account, tokenHash: hashKey(token) }, audit, (present) =>
      refuseUnlessBelow(requireManager(present).role, wanted.role),
    )
    return { account, token, previousUntil: null }
  }

  list(teamId: string, page: PageRequest): Promise<Page<ServiceAccount>> {
    return this.options.store.ofTeam(teamId, page)
  }

  /**
   * Gives an account a new token. A token from an earlier rotation ends at once.
   *
   * @param order `overlapSeconds`: how long the present token stays valid, 0 or more,
   *   unless it ends before
   * @throws AppError `service_account_not_found`; `insufficient_role` if the account's role is not
   *   below the actor's; `invalid_request` for an end that is past or too far ahead, and
   *   without one for an account that has expired
   */
  async rotate(
    actor: UserCaller,
    accountId: string,
    order: { readonly overlapSeconds: number; readonly expiresAt?: string | undefined },
  ): Promise<Issued> {
    const epochMs = this.options.clock.epochMs()
    const end = readExpiry(order.expiresAt, { epochMs, lifeMsMax: LIFE_MS_MAX })
    const token = newAccountToken()
    const tokenPrefix = readKeyPrefix(token)
    const { overlapSeconds } = order
    const findUntil = (ending: Date) => previousSecretEnd(ending, { epochMs, overlapSeconds })
    const before = await this.change(actor, accountId, (account) => {
      const expiresAt = rotatedExpiry(end, account.expiresAt, epochMs)
      const previousUntil = findUntil(account.expiresAt)
      const set = { tokenHash: hashKey(token), tokenPrefix, expiresAt, previousUntil }
      const after = {
        ...readAuditedFields({ ...account, tokenPrefix, expiresAt }),
        overlap_seconds: overlapSeconds,
      }
      const subject = accountId
      const change = { action: 'service_account.rotate', subject, after } as const
      const audited = { ...change, before: readAuditedFields(account) }
      return { set, audit: auditRecord(actor, audited, epochMs) }
    })
    const previousUntil = findUntil(before.expiresAt)
    return {
      account: { ...before, tokenPrefix, expiresAt: end ?? before.expiresAt },
      token,
      previousUntil: previousUntil.getTime() <= epochMs ? null : previousUntil,
    }
  }

  /**
   * Ends an account for good.
   *
   * @throws AppError as `rotate`
   */
  async revoke(actor: UserCaller, accountId: string): Promise<void> {
    const epochMs = this.options.clock.epochMs()
    await this.change(actor, accountId, (account) => {
      const before = readAuditedFields(account)
      const change = { action: 'service_account.revoke', subject: accountId, before } as const
      return {
        set: { revokedAt: new Date(epochMs) },
        audit: auditRecord(actor, change, epochMs),
      }
    })
  }

  get lookups(): CacheLookups {
    return this.holders.lookups
  }

  /** The caller with this token; null if no token in force is this. Synchronous if cached. */
  findCaller(token: string): UserCaller | null | Promise<UserCaller | null> {
    if (!isAccountToken(token)) return null
    const found = this.holders.get(hashKey(token))
    return found instanceof Promise ? found.then((holder) => this.used(holder)) : this.used(found)
  }

  /** Tells whether `findCaller` would query the database for a token that is new here, or guessed. */
  isUnknown(token: string): boolean {
    return isAccountToken(token) && this.holders.isUnknown(hashKey(token))
  }

  /** Forces a lookup before the next use of a token. */
  invalidate(tokenHash: string): void {
    this.holders.invalidate(tokenHash)
  }

  /** Does the same for all tokens. */
  invalidateAll(): void {
    this.holders.invalidateAll()
  }

  /** Writes the last uses that are not written yet. */
  close(): Promise<void> {
    return this.lastUses.close()
  }

  private used(holder: TokenHolder | null): UserCaller | null {
    const epochMs = this.options.clock.epochMs()
    if (holder === null || holder.expiresAtMs <= epochMs) return null
    this.lastUses.note(holder.caller.userId, epochMs)
    return holder.caller
  }

  private async change(
    actor: UserCaller,
    accountId: string,
    decide: (account: ServiceAccount) => { set: AccountChange; audit: NewAuditRecord },
  ): Promise<ServiceAccount> {
    const { store, onChange } = this.options
    const changed = !isId(accountId, 'svc_')
      ? null
      : await store.change(actor, accountId, (account, manager) => {
          refuseUnlessBelow(requireManager(manager).role, account.role)
          return decide(account)
        })
    if (changed === null) {
      const message = 'there is no service account with this id'
      throw new AppError('service_account_not_found', message)
    }
    for (const tokenHash of changed.hashes) onChange(tokenHash)
    return changed.account
  }
}

/**
 * Rejects a service account whose role is not below the actor's own.
 *
 * @throws AppError `insufficient_role`
 */
export function refuseUnlessBelow(own: Role, role: Role): void {
  if (outranks(own, role)) return
  const message = `the role ${own} may only manage service accounts with a role below its own`
  throw new AppError('insufficient_role', message)
}

function readAuditedFields(account: {
  readonly name: string
  readonly role: Role
  readonly tokenPrefix: string
  readonly expiresAt: Date
}) {
  const { name, role, tokenPrefix, expiresAt } = account
  return { name, role, prefix: tokenPrefix, expires_at: expiresAt.toISOString() }
}
