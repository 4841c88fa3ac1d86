import { createHmac } from 'node:crypto'
import type { Role } from '../../../src/http/access/caller.ts'
import { Passwords } from '../../../src/identity/auth/passwords.ts'
import type { Database } from '../../../src/platform/db/client.ts'
import { newId } from '../../../src/platform/ids.ts'
import { teams, users } from '../../../src/tables/auth.ts'
import { OWNER, type TestService } from './service.ts'

/** A user as tokens name them. */
export interface TestUser {
  readonly userId: string
  readonly teamId: string
  readonly role: Role
}

const TOKEN_LIFE_SEC = 3_600

/** @returns the id of a new team */
export async function insertTeam(db: Database): Promise<string> {
  const id = newId('team_', Date.now())
  await db.insert(teams).values({ id, name: id, createdAt: new Date() })
  return id
}

/** Adds a user who can't sign in, but for whom `tokenFor` makes tokens. */
export async function insertUser(db: Database, teamId: string, role: Role): Promise<TestUser> {
  const userId = newId('usr_', Date.now())
  const email = `${userId.toLowerCase()}@lender.example`
  const createdAt = new Date()
  await db.insert(users).values({ id: userId, teamId, email, passwordHash: '-', role, createdAt })
  return { userId, teamId, role }
}

/**
 * Adds the owner that `TestService.signIn` signs in, where the service would create them otherwise.
 */
export async function insertOwner(db: Database, teamId: string): Promise<TestUser> {
  const userId = newId('usr_', Date.now())
  const passwordHash = await new Passwords().hash(OWNER.password)
  const createdAt = new Date()
  const row = { teamId, email: OWNER.email, passwordHash, role: 'owner', createdAt } as const
  await db.insert(users).values({ id: userId, ...row })
  return { userId, teamId, role: 'owner' }
}

/** The claims of an access token that is in force from now on for an hour. */
export function claimsFor({ userId, teamId, role }: TestUser): Record<string, unknown> {
  const issuedSec = Math.floor(Date.now() / 1000)
  return {
    sub: userId,
    team: teamId,
    role,
    iss: 'scoreline',
    aud: 'scoreline',
    iat: issuedSec,
    exp: issuedSec + TOKEN_LIFE_SEC,
  }
}

/** An access token as the service would issue it, made without its code. */
export function tokenFor({ services }: TestService, user: TestUser): string {
  return signToken(claimsFor(user), services.jwtSecret)
}

const HASH_OF_ALGORITHM = { HS256: 'sha256', HS384: 'sha384', HS512: 'sha512', none: null }

/** Signs any claims with any secret; with the algorithm `none` not at all. */
export function signToken(
  claims: object,
  secret: string | Buffer,
  alg: keyof typeof HASH_OF_ALGORITHM = 'HS256',
): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = `${part({ alg, typ: 'JWT' })}.${part(claims)}`
  const hash = HASH_OF_ALGORITHM[alg]
  const signature = hash === null ? '' : createHmac(hash, secret).update(signed).digest('base64url')
  return `${signed}.${signature}`
}
