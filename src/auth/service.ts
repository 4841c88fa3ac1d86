import { createHash, randomBytes } from 'node:crypto'
import type { Clock } from '../clock.ts'
import { AppError } from '../errors.ts'
import { newId } from '../ids.ts'
import { RecheckedCache } from '../rechecked-cache.ts'
import type { Role, UserCaller } from './caller.ts'
import type { Passwords } from './passwords.ts'

export interface User {
  readonly id: string
  readonly teamId: string
  readonly email: string
  readonly passwordHash: string
  readonly role: Role
}

export interface NewRefreshToken {
  readonly tokenHash: string
  readonly userId: string
  readonly familyId: string
  readonly createdAt: Date
  readonly expiresAt: Date
}

export interface NewTeam {
  readonly id: string
  readonly name: string
  readonly createdAt: Date
}

/** What the service needs of the database. */
export interface AuthStore {
  userByEmail(email: string): Promise<User | null>
  userById(id: string): Promise<User | null>
  addRefreshToken(token: NewRefreshToken): Promise<void>
  hasUsers(): Promise<boolean>
  /** Creates team and owner if there are no users at all, one process at a time. */
  addFirstOwner(team: NewTeam, owner: User & { createdAt: Date }): Promise<boolean>
}

/** Proof of a login: the caller, and a refresh token that is shown only here. */
export interface Session {
  readonly caller: UserCaller
  readonly refreshToken: string
}

export interface AuthOptions {
  readonly store: AuthStore
  readonly passwords: Passwords
  readonly clock: Clock
  /** Longest time that a removed user or a changed role goes unnoticed. */
  readonly userTtlMs: number
}

const REFRESH_TOKEN_BYTES = 32
const REFRESH_TOKEN_LIFE_MS = 30 * 24 * 60 * 60 * 1000
const USERS_CACHED_MAX = 10_000
const FIRST_TEAM_NAME = 'Default team'

/** Users: signing in, and who a signed-in user is now. */
export class AuthService {
  private readonly options: AuthOptions
  private readonly users: RecheckedCache<User>

  constructor(options: AuthOptions) {
    this.options = options
    this.users = new RecheckedCache<User>({
      load: (userId) => options.store.userById(userId),
      clock: options.clock,
      ttlMs: options.userTtlMs,
      weightMax: USERS_CACHED_MAX,
    })
  }

  /**
   * Signs a user in.
   *
   * @throws AppError `invalid_credentials`, the same and after the same time for an unknown address
   *   and for a wrong password
   */
  async login(email: string, password: string): Promise<Session> {
    const { store, passwords, clock } = this.options
    const address = normalizeEmail(email)
    const user = address === null ? null : await store.userByEmail(address)
    const isRight = await passwords.verify(user?.passwordHash ?? null, password)
    if (user === null || !isRight) {
      throw new AppError('invalid_credentials', 'email or password is wrong')
    }
    const refreshToken = randomBytes(REFRESH_TOKEN_BYTES).toString('base64url')
    const epochMs = clock.epochMs()
    await store.addRefreshToken({
      tokenHash: createHash('sha256').update(refreshToken).digest('hex'),
      userId: user.id,
      familyId: newId('fam_', epochMs),
      createdAt: new Date(epochMs),
      expiresAt: new Date(epochMs + REFRESH_TOKEN_LIFE_MS),
    })
    return { caller: callerOf(user), refreshToken }
  }

  /** The user as he is now, or null when he was removed or moved to another team. */
  currentUser(userId: string, teamId: string): UserCaller | null | Promise<UserCaller | null> {
    const found = this.users.get(userId)
    const toCaller = (user: User | null) => (user?.teamId === teamId ? callerOf(user) : null)
    return found instanceof Promise ? found.then(toCaller) : toCaller(found)
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
    if (address === null) throw new TypeError('the address of the first owner is no email address')
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
}

function callerOf(user: User): UserCaller {
  return { kind: 'user', userId: user.id, teamId: user.teamId, role: user.role }
}

/** The form under which an address is stored; null for what no stored address can be. */
function normalizeEmail(email: string): string | null {
  const address = email.trim().toLowerCase()
  return address.includes('\0') || !address.isWellFormed() ? null : address
}
