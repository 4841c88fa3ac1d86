import { AppError } from '../../errors.ts'
import type { UserCaller } from '../../http/access/caller.ts'
import {
  type CacheLookups,
  StaleWhileRevalidateCache,
} from '../../platform/caches/stale-while-revalidate.ts'
import type { Clock } from '../../platform/clock.ts'
import { newId } from '../../platform/ids.ts'
import { ANONYMOUS, auditRecord } from '../audit/record.ts'
import { type Client, describeClient } from './client.ts'
import { makeSubjects, normalizeEmail } from './email.ts'
import type { LoginThrottle } from './login-throttle.ts'
import type { Passwords } from './passwords.ts'
import {
  hashRefreshToken,
  isRefreshToken,
  newRefreshToken,
  SuccessorMaker,
} from './refresh-tokens.ts'
import type { AuthStore, NewRefreshToken, RefreshTokenState, User } from './store.ts'

interface Credentials extends Client {
  readonly email: string
  readonly password: string
}

/** Proof of a login or refresh: the caller, and a refresh token that is shown only here. */
export interface Session {
  readonly caller: UserCaller
  readonly refreshToken: string
  readonly sessionId: string
}

/** Says who may use a password, and which sessions may go on. */
interface SessionRule {
  admitsPassword(user: Pick<User, 'email' | 'role'>): boolean
  /**
   * Checks a session before a refresh of its token, if that is in force and unused.
   *
   * @throws AppError `invalid_refresh_token` after it has ended the session; `unavailable`
   */
  confirm(tokenHash: string): Promise<void>
}

interface AuthOptions {
  readonly store: AuthStore
  readonly passwords: Passwords
  readonly throttle: LoginThrottle
  readonly sessions: SessionRule
  readonly clock: Clock
  /** Longest time that a removed user or a changed role goes unnoticed. */
  readonly userTtlMs: number
  /** Called with the id of the user whose session has ended. */
  readonly onEnd: (userId: string) => void
  /** Derives successors of refresh tokens, the same in all replicas. */
  readonly secret: string | Buffer
  /** That before the last rotation; null: there is none. */
  readonly formerSecret: string | null
}

export const REFRESH_TOKEN_LIFE_MS = 30 * 24 * 60 * 60 * 1000
/**
 * Time for which a used token is still accepted, for a client that lost the response and for its
 * second tab.
 */
const GRACE_MS = 10_000
const USERS_CACHED_MAX = 10_000
const FIRST_TEAM_NAME = 'Default team'

/** Signs users in and out, renews their sessions, and finds the user of an access token. */
export class AuthService {
  private readonly options: AuthOptions
  private readonly users: StaleWhileRevalidateCache<User>
  private readonly open: OpenSessions
  private readonly successors: SuccessorMaker
  private readonly formerSuccessors: SuccessorMaker | null
  private readonly noting = new Set<Promise<void>>()

  constructor(options: AuthOptions) {
    this.options = options
    const { formerSecret } = options
    this.successors = new SuccessorMaker(options.secret)
    this.formerSuccessors = formerSecret === null ? null : new SuccessorMaker(formerSecret)
    this.users = new StaleWhileRevalidateCache<User>({
      load: (userId) => options.store.userById(userId),
      clock: options.clock,
      ttlMs: options.userTtlMs,
      weightMax: USERS_CACHED_MAX,
    })
    this.open = new OpenSessions(options)
  }

  /**
   * Signs a user in.
   *
   * @throws AppError `invalid_credentials`, the same and after the same time for an unknown address
   *   and for a wrong password; `rate_limited` after too many of either
   */
  async login({ email, password, ...client }: Credentials): Promise<Session> {
    const { store, passwords, throttle, sessions, clock } = this.options
    const { clientAddress } = client
    const subjects = makeSubjects(clientAddress, email)
    await throttle.refuseSpent(subjects)
    const address = normalizeEmail(email)
    const user = address === null ? null : await store.userByEmail(address)
    const begin = () => throttle.begin(subjects)
    const passwordHash = user !== null && sessions.admitsPassword(user) ? user.passwordHash : null
    const isRight = await passwords.verify(passwordHash, password, begin)
    if (user !== null && !isRight) this.noteFailure(user, clientAddress)
    if (user === null || !isRight) throw invalidCredentials()
    const refreshToken = newRefreshToken()
    const epochMs = clock.epochMs()
    const familyId = newId('fam_', epochMs)
    const after = describeClient(client)
    const change = { action: 'session.sign_in', subject: familyId, after } as const
    const audit = auditRecord({ userId: user.id, teamId: user.teamId }, change, epochMs)
    const start = { token: this.stored(refreshToken), audit }
    const signedIn = await store.startFamily(user, familyId, start)
    if (signedIn === null) throw invalidCredentials()
    return this.session(signedIn, refreshToken, familyId)
  }

  /**
   * Proves the password of a user who is signed in, with the bound of a sign-in.
   *
   * @returns the user, with the hash that the password has
   * @throws AppError `invalid_credentials`; `rate_limited` after too many wrong passwords
   */
  async provePassword({
    userId,
    password,
    clientAddress,
  }: {
    readonly userId: string
    readonly password: string
    readonly clientAddress: string
  }): Promise<{ readonly email: string; readonly passwordHash: string }> {
    const { store, passwords, throttle } = this.options
    const user = await store.userById(userId)
    if (user === null) throw invalidCredentials()
    const subjects = makeSubjects(clientAddress, user.email)
    await throttle.refuseSpent(subjects)
    const begin = () => throttle.begin(subjects)
    if (await passwords.verify(user.passwordHash, password, begin)) return user
    this.noteFailure(user, clientAddress)
    throw new AppError('invalid_credentials', 'the current password is wrong')
  }

  /**
   * Exchanges a refresh token for its successor. A used one presented again within `GRACE_MS`, as a
   * client does whose answer was lost, gets the same successor as long as that is unused; otherwise
   * somebody else has a copy, and the whole family ends. A session of single sign-on goes on only
   * after the identity provider has confirmed it.
   *
   * @throws AppError `invalid_refresh_token`, the same for whatever is wrong with the token, and
   *   with its reason for a session that was not confirmed; `unavailable` while the identity
   *   provider does not answer: the token is still unused
   */
  async refresh(presented: string): Promise<Session> {
    if (!isRefreshToken(presented)) throw invalidRefreshToken()
    const { store, sessions, clock } = this.options
    const tokenHash = hashRefreshToken(presented)
    await sessions.confirm(tokenHash)
    const refreshToken = this.successors.deriveSuccessor(presented)
    const successor = this.stored(refreshToken)
    const rotated = await store.rotate(tokenHash, successor)
    if (rotated !== null) return this.session(rotated.user, refreshToken, rotated.familyId)

    const state = await store.refreshTokenState(tokenHash)
    if (state === null || state.usedAt === null || state.revokedAt !== null) {
      throw invalidRefreshToken()
    }
    const epochMs = clock.epochMs()
    // A replica that has the secret before this one may have made the successor.
    const known = [refreshToken, this.formerSuccessors?.deriveSuccessor(presented)]
    const given = known.find((one) => one && hashRefreshToken(one) === state.successorHash)
    const isRetry = epochMs - state.usedAt.getTime() <= GRACE_MS && state.hasUnusedSuccessor
    if (isRetry && given) return this.session(state.user, given, state.familyId)

    await this.endFamily(state, 'a refresh token that was used before was presented again')
    throw invalidRefreshToken()
  }

  get lookups(): CacheLookups {
    return this.users.lookups
  }

  /**
   * Ends the session of a refresh token. An unknown token, or one of an ended session, ends
   * nothing.
   */
  async logout(presented: string): Promise<void> {
    if (isRefreshToken(presented)) {
      await this.endSessionByToken(hashRefreshToken(presented), 'signed out')
    }
  }

  /** Ends the session of a refresh token that is known by its hash, in force or used. */
  async endSessionByToken(tokenHash: string, reason: string): Promise<void> {
    const state = await this.options.store.refreshTokenState(tokenHash)
    if (state !== null) await this.endFamily(state, reason)
  }

  /**
   * The user as they are now; null if they were removed or moved to another team, or if their
   * session has ended.
   *
   * @param sessionId of the access token; undefined in a token without a session
   */
  currentUser(
    userId: string,
    teamId: string,
    sessionId?: string,
  ): UserCaller | null | Promise<UserCaller | null> {
    const found = this.users.get(userId)
    const isOpen = sessionId === undefined || this.open.isOpen(sessionId)
    const session = sessionId === undefined ? {} : { sessionId }
    const toCaller = (user: User | null, open: boolean) =>
      open && user?.teamId === teamId ? { ...makeCaller(user), ...session } : null
    if (!(found instanceof Promise) && typeof isOpen === 'boolean') return toCaller(found, isOpen)
    return Promise.all([found, isOpen]).then(([user, open]) => toCaller(user, open))
  }

  /**
   * To be called when a user was changed or removed, or a session of theirs has ended: later
   * requests read both anew.
   */
  invalidate(userId: string): void {
    this.users.invalidate(userId)
    this.open.invalidateAll()
  }

  /** To be called when any user may have changed. */
  invalidateAll(): void {
    this.users.invalidateAll()
    this.open.invalidateAll()
  }

  hasUsers(): Promise<boolean> {
    return this.options.store.hasUsers()
  }

  /**
   * Creates the first team and its owner on a database without users.
   *
   * @returns whether it did
   */
  async bootstrapOwner(email: string, password: string): Promise<boolean> {
    const { store, passwords, clock } = this.options
    const address = normalizeEmail(email)
    if (address === null)
      throw new TypeError('the address of the first owner is not an email address')
    const epochMs = clock.epochMs()
    const createdAt = new Date(epochMs)
    const team = { id: newId('team_', epochMs), name: FIRST_TEAM_NAME, createdAt }
    const passwordHash = await passwords.hash(password)
    return store.addFirstOwner(team, {
      id: newId('usr_', epochMs),
      teamId: team.id,
      email: address,
      passwordHash,
      role: 'owner',
      createdAt,
    })
  }

  /** Waits for the records of failed sign-ins that are being written. */
  async close(): Promise<void> {
    await Promise.all(this.noting)
  }

  /**
   * Records a wrong password without making its answer wait: an unknown email has no record, and
   * must not be told apart by the time. The throttle bounds the records, 10 a minute for an email.
   */
  private noteFailure({ id, teamId }: User, clientAddress: string): void {
    const { store, clock } = this.options
    const after = { address: clientAddress }
    const change = { action: 'session.sign_in_failed', subject: id, after } as const
    const audit = auditRecord({ userId: ANONYMOUS, teamId }, change, clock.epochMs())
    // Without the database the answer is 503 soon anyway; the metrics count the failed sign-in.
    const noted = store.record(audit).catch(() => undefined)
    this.noting.add(noted)
    void noted.then(() => this.noting.delete(noted))
  }

  private session(user: User, refreshToken: string, sessionId: string): Session {
    // So that the role in the new access token counts at once.
    this.users.invalidate(user.id)
    return { caller: makeCaller(user), refreshToken, sessionId }
  }

  private async endFamily({ user, familyId }: RefreshTokenState, reason: string): Promise<void> {
    const { store, clock, onEnd } = this.options
    const epochMs = clock.epochMs()
    const change = { action: 'session.end_family', subject: familyId, reason } as const
    const audit = auditRecord({ userId: user.id, teamId: user.teamId }, change, epochMs)
    await store.endFamily(user, familyId, { at: new Date(epochMs), audit })
    onEnd(user.id)
  }

  /** Returns what is kept of a refresh token that is issued now. */
  private stored(refreshToken: string): NewRefreshToken {
    const epochMs = this.options.clock.epochMs()
    return {
      tokenHash: hashRefreshToken(refreshToken),
      createdAt: new Date(epochMs),
      expiresAt: new Date(epochMs + REFRESH_TOKEN_LIFE_MS),
    }
  }
}

function invalidCredentials(): AppError {
  return new AppError('invalid_credentials', 'email or password is wrong')
}

function invalidRefreshToken(): AppError {
  return new AppError('invalid_refresh_token', 'the refresh token is not in force: sign in again')
}

export function makeCaller(user: User): UserCaller {
  return { kind: 'user', userId: user.id, teamId: user.teamId, role: user.role }
}

interface OpenSessionsOptions {
  readonly store: { isOpen(sessionId: string, now: Date): Promise<boolean> }
  readonly clock: Clock
  /** Longest time that the end of a session goes unnoticed if nobody announces it. */
  readonly userTtlMs: number
}

const SESSIONS_CACHED_MAX = 10_000
const OPEN = {}

/**
 * Knows which sessions are open, so that an access token ends with its session. A request of a
 * known session reads no database; each session is checked again within `userTtlMs`.
 */
export class OpenSessions {
  private readonly cache: StaleWhileRevalidateCache<object>

  constructor({ store, clock, userTtlMs }: OpenSessionsOptions) {
    this.cache = new StaleWhileRevalidateCache<object>({
      load: async (id) => ((await store.isOpen(id, new Date(clock.epochMs()))) ? OPEN : null),
      clock,
      ttlMs: userTtlMs,
      weightMax: SESSIONS_CACHED_MAX,
    })
  }

  isOpen(sessionId: string): boolean | Promise<boolean> {
    const found = this.cache.get(sessionId)
    return found instanceof Promise ? found.then((open) => open !== null) : found !== null
  }

  /** To be called when any session may have ended. */
  invalidateAll(): void {
    this.cache.invalidateAll()
  }
}
