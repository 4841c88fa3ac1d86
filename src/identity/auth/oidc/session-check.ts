import { AppError } from '../../../errors.ts'
import type { Clock } from '../../../platform/clock.ts'
import { timeOfId } from '../../../platform/ids.ts'
import { auditRecord } from '../../audit/record.ts'
import type { User } from '../store.ts'
import { highestRole } from './claims.ts'
import type { IdentityProvider } from './lazy-provider.ts'
import type { Found, ProviderTokens } from './provider.ts'
import { findSignOnRefusal, SIGN_ON_REFUSALS } from './refusals.ts'
import type { TextSealer } from './sealer.ts'
import type { SignInConfig } from './settings.ts'
import type { CheckedSession, ProvidedSession } from './sign-on.ts'
import { BY_GROUPS, type SignOnStore } from './store.ts'

interface SessionCheckOptions {
  readonly store: SignOnStore
  readonly config: SignInConfig
  /** Null without a configuration. */
  readonly provider: IdentityProvider | null
  readonly sealer: TextSealer
  readonly clock: Clock
  /** Called with the id of each user whose role has changed, or whose session has ended. */
  readonly onChange: (userId: string) => void
}

/** Time for which a session lasts however often it is refreshed. A family's id has its time. */
const SESSION_LIFE_MS_MAX = 90 * 24 * 60 * 60 * 1000
/** Longest time that one request asks the provider; by then it has ended, or its process died. */
const ASKING_MS_MAX = 30_000
/** Between two looks at a session that another request asks for. */
const LOOK_AGAIN_MS = 50
const WAIT_MS_MAX = 12_000

/** Says of each session before its refresh whether it may go on. */
export class SessionCheck {
  private readonly options: SessionCheckOptions

  constructor(options: SessionCheckOptions) {
    this.options = options
  }

  /** Tells whether a user may sign in with a password. */
  admitsPassword({ email, role }: Pick<User, 'email' | 'role'>): boolean {
    const { breakGlassEmail } = this.options.config
    return breakGlassEmail === null || (email === breakGlassEmail && role === 'owner')
  }

  /**
   * Checks before a refresh that the session may go on. A session of single sign-on does while the
   * provider knows the person and one of their groups has a role, which is theirs from now on. A
   * session that a password began goes on while passwords are accepted from its user. Nothing is
   * checked for a token that is not in force or was used before: the refresh itself refuses it. No
   * session is older than `SESSION_LIFE_MS_MAX`.
   *
   * The provider is asked by one request for a session at a time, because its tokens may work once
   * only; others wait.
   *
   * @throws AppError `invalid_refresh_token` with the reason, and the session ends; `unavailable`
   *   while the provider does not answer, and the session stays as it is
   */
  async confirm(tokenHash: string): Promise<void> {
    const { store, clock } = this.options
    const startedAtMs = clock.monotonicMs()
    for (;;) {
      const now = new Date(clock.epochMs())
      const session = await store.findSession(tokenHash, now)
      if (session === null) return
      const { user, familyId, isSignOn } = session
      const ageMs = now.getTime() - (timeOfId(familyId) ?? now.getTime())
      if (ageMs > SESSION_LIFE_MS_MAX) {
        return this.end(user, { asked: familyId, familyId, reason: 'it is 90 days old' })
      }
      if (!isSignOn) {
        if (this.admitsPassword(user)) return
        return this.end(user, { asked: familyId, familyId, reason: 'passwords are switched off' })
      }
      if (user.email === this.options.config.breakGlassEmail) {
        const reason = 'the owner of BREAK_GLASS_EMAIL signs in with their password'
        return this.end(user, { asked: familyId, familyId: null, reason })
      }
      const until = new Date(now.getTime() + ASKING_MS_MAX)
      // What is sealed is read with the right to use it: another request may just have replaced it.
      const provided = await store.beginAsking(familyId, now, until)
      if (provided !== null) return this.ask(session, provided)
      if (clock.monotonicMs() - startedAtMs > WAIT_MS_MAX) {
        const message = 'another refresh of this session is under way, try again later'
        throw new AppError('unavailable', message)
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS))
    }
  }

  private async ask(
    { user, familyId }: CheckedSession,
    { subject, sealedTokens }: ProvidedSession,
  ): Promise<void> {
    const { store, config, provider, sealer, clock, onChange } = this.options
    const text = sealer.open(sealedTokens, familyId)
    if (provider === null || config.oidc === null || text === null) {
      const reason = 'the identity provider can no longer be asked'
      return this.end(user, { asked: familyId, familyId, reason })
    }
    const tokens: ProviderTokens = JSON.parse(text)
    let found: Found
    try {
      found = await provider.ask(subject, tokens)
    } catch (error) {
      const refusal = findSignOnRefusal(error)
      if (refusal !== null) {
        const reason = SIGN_ON_REFUSALS[refusal]
        return this.end(user, { asked: familyId, familyId, reason })
      }
      await store.endAsking(familyId)
      throw error
    }
    const role = highestRole(found.identity.groups, config.oidc.roleOfGroup)
    if (role === null) {
      return this.end(user, { asked: familyId, familyId: null, reason: SIGN_ON_REFUSALS.groups })
    }
    const what = { before: { role: user.role }, after: { role }, reason: BY_GROUPS }
    const change = { action: 'member.update', subject: user.id, ...what } as const
    const actor = { userId: user.id, teamId: user.teamId }
    await store.keepAnswer(user, {
      familyId,
      sealedTokens: sealer.seal(JSON.stringify(found.tokens), familyId),
      role,
      audit: auditRecord(actor, change, clock.epochMs()),
    })
    if (role !== user.role) onChange(user.id)
  }

  /** @param which `asked`: the session of the refresh; `familyId` null: all of single sign-on */
  private async end(
    user: User,
    which: { readonly asked: string; readonly familyId: string | null; readonly reason: string },
  ): Promise<never> {
    const { store, clock, onChange } = this.options
    const { asked, familyId, reason } = which
    const at = new Date(clock.epochMs())
    const change = { action: 'session.end_family', subject: asked, reason } as const
    const actor = { userId: user.id, teamId: user.teamId }
    const audit = auditRecord(actor, change, at.getTime())
    await store.endSessions(user, { familyId, at, audit })
    onChange(user.id)
    throw new AppError('invalid_refresh_token', `the session has ended: ${reason}`)
  }
}
