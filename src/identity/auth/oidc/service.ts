import { EMAIL_CHARS_MAX, EMAIL_PATTERN } from '../../../../schemas/auth.ts'
import { AppError } from '../../../errors.ts'
import type { Clock } from '../../../platform/clock.ts'
import { newId } from '../../../platform/ids.ts'
import { ANONYMOUS, auditRecord } from '../../audit/record.ts'
import type { Client } from '../client.ts'
import { normalizeEmail } from '../email.ts'
import { NO_PASSWORD } from '../passwords.ts'
import { hashRefreshToken, newRefreshToken } from '../refresh-tokens.ts'
import { makeCaller, REFRESH_TOKEN_LIFE_MS, type Session } from '../service.ts'
import type { User } from '../store.ts'
import { highestRole } from './claims.ts'
import type { IdentityProvider } from './lazy-provider.ts'
import type { Attempt, Found, ProviderAnswer } from './provider.ts'
import { findSignOnRefusal, type SignOnRefusal, signOnRefused } from './refusals.ts'
import type { TextSealer } from './sealer.ts'
import type { SignInConfig, SignOnSettings } from './settings.ts'
import type { SignOnStore } from './store.ts'

/** The starter of a sign-on: what one has started, the other can't end. */
type SignOnUse = 'console' | 'api'

interface SignOnOptions {
  readonly store: SignOnStore
  readonly config: SignInConfig
  /** Null without a configuration. */
  readonly provider: IdentityProvider | null
  readonly sealer: TextSealer
  readonly clock: Clock
  /** Called with the id of each user whose role may have changed. */
  readonly onChange: (userId: string) => void
}

interface SignedOn extends Session {
  /** As `begin` was told. */
  readonly formerTokenHash: string | null
}

/** State that a sign-on keeps with the browser, sealed. */
interface Flow extends Attempt {
  readonly endsAtMs: number
  readonly formerTokenHash: string | null
}

/** Time for which the person may take at the provider. */
export const SIGN_ON_LIFE_SEC = 600
const EMAIL = new RegExp(EMAIL_PATTERN, 'u')

/** Signs people on at the identity provider. */
export class SignOnService {
  private readonly options: SignOnOptions

  constructor(options: SignOnOptions) {
    this.options = options
  }

  /** Which ways of signing in there are for everybody. */
  get methods(): { readonly hasSignOn: boolean; readonly hasPasswords: boolean } {
    const { oidc, breakGlassEmail } = this.options.config
    return { hasSignOn: oidc !== null, hasPasswords: breakGlassEmail === null }
  }

  /**
   * Returns what keeps the owner of `BREAK_GLASS_EMAIL` from signing in with a password, for the
   * operator.
   *
   * @returns null if nothing does, and while everybody may sign in with a password
   */
  async breakGlassFault(): Promise<string | null> {
    const { store, config } = this.options
    const { breakGlassEmail: email } = config
    if (email === null) return null
    const user = await store.userWith(email)
    const fault = user === null ? 'there is no such member' : faultOfOwner(user)
    return fault && `nobody can sign in as BREAK_GLASS_EMAIL (${email}): ${fault}`
  }

  /**
   * Begins a sign-on.
   *
   * @param formerTokenHash of the session that the new one replaces once it has begun; null: none
   * @returns where the browser must go; `flow` is secret, and comes back with the answer
   * @throws AppError `not_found` without an identity provider; `unavailable` while it is away
   */
  async begin(
    use: SignOnUse,
    redirectUri: string,
    formerTokenHash: string | null = null,
  ): Promise<{ url: string; flow: string }> {
    const { sealer, clock } = this.options
    const { provider } = this.configured()
    const { url, attempt } = await provider.begin(redirectUri)
    const endsAtMs = clock.epochMs() + SIGN_ON_LIFE_SEC * 1000
    const flow: Flow = { ...attempt, endsAtMs, formerTokenHash }
    return { url, flow: sealer.seal(JSON.stringify(flow), use) }
  }

  /**
   * Ends a sign-on with the provider's answer.
   *
   * @param order `flow` as `begin` returned it; the client for the audit log
   * @throws AppError `sign_on_refused` with the reason; `not_found`; `unavailable`
   */
  async finish(
    order: Client & {
      readonly use: SignOnUse
      readonly flow: string
      readonly answer: ProviderAnswer
    },
  ): Promise<SignedOn> {
    const { use, flow, answer, ...client } = order
    const { clientAddress } = client
    const { provider, settings } = this.configured()
    const attempt = this.readAttempt(flow, use)
    if (answer.state !== attempt.state) throw signOnRefused('state')
    const found = await provider.redeem(answer, attempt)
    try {
      const session = await this.signOn(settings, found, client)
      return { ...session, formerTokenHash: attempt.formerTokenHash }
    } catch (error) {
      const reason = findSignOnRefusal(error)
      const person = { issuer: found.issuer, subject: found.identity.subject, clientAddress }
      if (reason !== null) await this.noteRefusal(person, reason)
      throw error
    }
  }

  private configured(): { provider: IdentityProvider; settings: SignOnSettings } {
    const { provider, config } = this.options
    if (provider === null || config.oidc === null) {
      throw new AppError('not_found', 'this service has no single sign-on: sign in with a password')
    }
    return { provider, settings: config.oidc }
  }

  /** @throws AppError `sign_on_refused` for a text that is not a flow, or too old */
  private readAttempt(flow: string, use: SignOnUse): Flow {
    const { sealer, clock } = this.options
    const text = sealer.open(flow, use)
    if (text === null) throw signOnRefused('flow')
    const attempt: Flow = JSON.parse(text)
    if (attempt.endsAtMs < clock.epochMs()) throw signOnRefused('flow')
    return attempt
  }

  private async signOn(
    settings: SignOnSettings,
    { issuer, identity, tokens }: Found,
    client: Client,
  ): Promise<Session> {
    const { store, config, sealer, clock, onChange } = this.options
    const email = readEmail(identity.email)
    if (!identity.isEmailVerified) throw signOnRefused('email_verified')
    const role = highestRole(identity.groups, settings.roleOfGroup)
    if (role === null) throw signOnRefused('groups')
    const epochMs = clock.epochMs()
    const familyId = newId('fam_', epochMs)
    const refreshToken = newRefreshToken()
    const user = await store.signOn({
      issuer,
      subject: identity.subject,
      email,
      role,
      teamId: settings.teamId,
      breakGlassEmail: config.breakGlassEmail,
      newUserId: newId('usr_', epochMs),
      familyId,
      token: {
        tokenHash: hashRefreshToken(refreshToken),
        createdAt: new Date(epochMs),
        expiresAt: new Date(epochMs + REFRESH_TOKEN_LIFE_MS),
      },
      sealedTokens: sealer.seal(JSON.stringify(tokens), familyId),
      client,
      makeAudit: ({ id, teamId }, change) => auditRecord({ userId: id, teamId }, change, epochMs),
    })
    if (typeof user === 'string') throw signOnRefused(user)
    onChange(user.id)
    return { caller: makeCaller(user), refreshToken, sessionId: familyId }
  }

  /** Records the refusal of a member. Of one without a group, all sessions end. */
  private async noteRefusal(
    person: { readonly issuer: string; readonly subject: string; readonly clientAddress: string },
    reason: SignOnRefusal,
  ): Promise<void> {
    const { store, clock, onChange } = this.options
    const user = await store.findUser(person.issuer, person.subject)
    if (user === null) return
    const { id, teamId } = user
    const at = new Date(clock.epochMs())
    const after = { address: person.clientAddress, refused: reason }
    const failed = { action: 'session.sign_in_failed', subject: id, after } as const
    await store.record(auditRecord({ userId: ANONYMOUS, teamId }, failed, at.getTime()))
    if (reason !== 'groups') return
    const ended = { action: 'session.end_family', subject: id, reason } as const
    const audit = auditRecord({ userId: id, teamId }, ended, at.getTime())
    await store.endSessions(user, { familyId: null, at, audit })
    onChange(id)
  }
}

function faultOfOwner({ role, passwordHash }: User): string | null {
  if (role !== 'owner') return `their role is ${role}, not owner`
  if (passwordHash !== NO_PASSWORD) return null
  return 'they have no password: set one with "scoreline user reset-password"'
}

/**
 * The address in the form in which it is stored.
 *
 * @throws AppError `sign_on_refused` without a valid one
 */
function readEmail(email: string | null): string {
  const address = email === null ? null : normalizeEmail(email)
  if (address === null || !EMAIL.test(address) || [...address].length > EMAIL_CHARS_MAX) {
    throw signOnRefused('email')
  }
  return address
}
