import type { UserCaller } from '../../access/caller.ts'
import { auditRecord, type NewAuditRecord } from '../../audit/record.ts'
import type { Passwords } from '../../auth/passwords.ts'
import type { AuthService } from '../../auth/service.ts'
import { AppError } from '../../errors.ts'
import type { Clock } from '../../platform/clock.ts'
import { isId } from '../../platform/ids/ids.ts'
import type { Page, PageRequest } from '../../platform/paging.ts'
import { hashPassword } from '../credentials.ts'

/** A session: the refresh tokens that descend from one sign-in. */
export interface OpenSession {
  readonly id: string
  readonly startedAt: Date
  readonly refreshedAt: Date
  readonly expiresAt: Date
}

/** What the service needs from the database. */
export interface OwnAccountStore {
  /** The open sessions of a user, newest first. */
  sessions(userId: string, now: Date, page: PageRequest): Promise<Page<OpenSession>>
  /**
   * Ends an open session of a user, with its audit record.
   *
   * @returns false if the user has no such open session
   */
  endSession(userId: string, sessionId: string, at: Date, audit: NewAuditRecord): Promise<boolean>
  /**
   * Replaces a password and ends all sessions but one, with the audit record.
   *
   * @param change `formerHash`: the password that the caller has proven
   * @returns false if the password is another one by now, or the user was removed
   */
  changePassword(change: {
    readonly userId: string
    readonly formerHash: string
    readonly passwordHash: string
    /** The session that stays; null: none. */
    readonly keptSessionId: string | null
    readonly audit: NewAuditRecord
  }): Promise<boolean>
}

interface OwnAccountOptions {
  readonly store: OwnAccountStore
  readonly auth: Pick<AuthService, 'provePassword'>
  readonly passwords: Passwords
  readonly clock: Clock
  /** Called with the id of the user whose sessions have ended. */
  readonly onEnd: (userId: string) => void
}

/** What members do with their own accounts: password and sessions. */
export class OwnAccountService {
  private readonly options: OwnAccountOptions

  constructor(options: OwnAccountOptions) {
    this.options = options
  }

  /**
   * Changes the caller's password and ends their other sessions.
   *
   * @param order `clientAddress` as in a sign-in
   * @throws AppError `insufficient_role` for a service account; `invalid_credentials` for a wrong
   *   present password; `rate_limited` after too many of them; `invalid_request` for a new password
   *   that is too short or too long
   */
  async changePassword(
    caller: UserCaller,
    order: {
      readonly currentPassword: string
      readonly newPassword: string
      readonly clientAddress: string
    },
  ): Promise<void> {
    if (!isId(caller.userId, 'usr_')) {
      throw new AppError('insufficient_role', 'a service account has no password: rotate its token')
    }
    const { store, auth, passwords, clock, onEnd } = this.options
    const { currentPassword, newPassword, clientAddress } = order
    const proof = { userId: caller.userId, password: currentPassword, clientAddress }
    const formerHash = await auth.provePassword(proof)
    const passwordHash = await hashPassword(passwords, newPassword, 'new_password')
    const change = { action: 'member.change_password', subject: caller.userId } as const
    const isChanged = await store.changePassword({
      userId: caller.userId,
      formerHash,
      passwordHash,
      keptSessionId: caller.sessionId ?? null,
      audit: auditRecord(caller, change, clock.epochMs()),
    })
    if (!isChanged) throw new AppError('invalid_credentials', 'the password was changed meanwhile')
    onEnd(caller.userId)
  }

  /** The caller's open sessions, newest first. */
  sessions(caller: UserCaller, page: PageRequest): Promise<Page<OpenSession>> {
    return this.options.store.sessions(caller.userId, this.now(), page)
  }

  /**
   * Ends a session of the caller.
   *
   * @throws AppError `session_not_found`
   */
  async endSession(caller: UserCaller, sessionId: string): Promise<void> {
    const at = this.now()
    const change = { action: 'session.end', subject: sessionId } as const
    const audit = auditRecord(caller, change, at.getTime())
    const isEnded =
      isId(sessionId, 'fam_') &&
      (await this.options.store.endSession(caller.userId, sessionId, at, audit))
    if (!isEnded) throw new AppError('session_not_found', 'you have no open session with this id')
    this.options.onEnd(caller.userId)
  }

  private now(): Date {
    return new Date(this.options.clock.epochMs())
  }
}
