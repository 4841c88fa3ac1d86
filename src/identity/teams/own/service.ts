import { AppError } from '../../../errors.ts'
import type { UserCaller } from '../../../http/access/caller.ts'
import type { Clock } from '../../../platform/clock.ts'
import { isId } from '../../../platform/ids.ts'
import type { Page, PageRequest } from '../../../platform/paging.ts'
import { auditRecord } from '../../audit/record.ts'
import type { Passwords } from '../../auth/passwords.ts'
import type { AuthService } from '../../auth/service.ts'
import { hashPassword } from '../credentials.ts'
import type { OpenSession, OwnAccountStore } from './store.ts'

interface OwnAccountOptions {
  readonly store: OwnAccountStore
  readonly auth: Pick<AuthService, 'provePassword'>
  readonly passwords: Passwords
  readonly clock: Clock
  /** Called with the id of the user whose sessions have ended. */
  readonly onEnd: (userId: string) => void
}

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
   *   that is too short, too long or easy to guess
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
    const { email, passwordHash: formerHash } = await auth.provePassword(proof)
    const path = 'new_password'
    const passwordHash = await hashPassword(passwords, newPassword, { email, path })
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
    const { userId, teamId } = caller
    // It may be the session of this very request.
    const audit = auditRecord({ userId, teamId }, change, at.getTime())
    const isEnded =
      isId(sessionId, 'fam_') && (await this.options.store.endSession(userId, sessionId, at, audit))
    if (!isEnded) throw new AppError('session_not_found', 'you have no open session with this id')
    this.options.onEnd(userId)
  }

  private now(): Date {
    return new Date(this.options.clock.epochMs())
  }
}
