import { and, eq, isNull, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { Role } from '../../http/access/caller.ts'
import { askedRow, askTwice } from '../../platform/db/asked-rows.ts'
import { type Database, DatabaseStore, type Transaction } from '../../platform/db/client.ts'
import { withAdvisoryLock } from '../../platform/db/transactions.ts'
import { refreshTokens, signOnSessions, teams, users } from '../../tables/auth.ts'
import { isSessionOpen } from '../audit/credentials.ts'
import type { NewAuditRecord } from '../audit/record.ts'
import { insertAuditRecord, lockTeam } from '../audit/writer.ts'
export interface NewRefreshToken {
  readonly tokenHash: string
  readonly createdAt: Date
  readonly expiresAt: Date
}

export interface NewTeam {
  readonly id: string
  readonly name: string
  readonly createdAt: Date
}

export interface RefreshTokenState {
  /** The user it belongs to, as they are now. */
  readonly user: User
  readonly familyId: string
  readonly usedAt: Date | null
  readonly revokedAt: Date | null
  readonly successorHash: string | null
  /** True if its direct successor is there, neither used nor revoked. */
  readonly hasUnusedSuccessor: boolean
}

export interface User {
  readonly id: string
  readonly teamId: string
  readonly email: string
  readonly passwordHash: string
  readonly role: Role
}

export const USER = {
  id: users.id,
  teamId: users.teamId,
  email: users.email,
  passwordHash: users.passwordHash,
  role: users.role,
}

/**
 * Users and refresh tokens in PostgreSQL.
 *
 * Every writer of a user's refresh tokens locks the user's row first. So no token is added to a
 * family while it ends, which its end would overlook, and writers never wait for each other in a
 * circle.
 */
export class AuthStore extends DatabaseStore {
  async userByEmail(email: string): Promise<User | null> {
    const rows = await this.db.select().from(users).where(eq(users.email, email))
    return askedRow(rows, (row) => row.email === email)
  }

  async userById(id: string): Promise<User | null> {
    const rows = await this.db.select().from(users).where(eq(users.id, id))
    return askedRow(rows, (row) => row.id === id)
  }

  /**
   * Starts a family with the token, notes the sign-in with its audit record, and deletes the user's
   * tokens that have expired by then, in one transaction.
   *
   * @returns the user as they are now; null if they were removed or changed their password
   */
  async startFamily(
    { id, teamId, passwordHash }: User,
    familyId: string,
    { token, audit }: { readonly token: NewRefreshToken; readonly audit: NewAuditRecord },
  ): Promise<User | null> {
    return this.db.transaction(async (tx) => {
      await lockTeam(tx, teamId)
      const user = await addFamily(tx, { id, passwordHash }, familyId, token)
      if (user === null) return null
      await tx.update(users).set({ lastSignInAt: token.createdAt }).where(eq(users.id, id))
      await insertAuditRecord(tx, audit)
      return user
    })
  }

  /** Adds a record to the audit log that belongs to no change. */
  async record(audit: NewAuditRecord): Promise<void> {
    await this.db.transaction((tx) => insertAuditRecord(tx, audit))
  }

  /**
   * Replaces a token that is in force, in one statement.
   *
   * @returns the user as they are now, and the family; null if no valid token has the hash
   */
  async rotate(
    tokenHash: string,
    successor: NewRefreshToken,
  ): Promise<{ user: User; familyId: string } | null> {
    const now = toMoment(successor.createdAt)
    const owner = this.db.$with('owner', USER).as(sql`
      select u.* from ${users} u join ${refreshTokens} t on t.user_id = u.id
      where t.token_hash = ${tokenHash}
      for no key update of u`)
    const used = this.db
      .$with('used', {
        userId: refreshTokens.userId,
        familyId: refreshTokens.familyId,
        tokenHash: refreshTokens.tokenHash,
      })
      .as(sql`
      update ${refreshTokens} set used_at = ${now}, successor_hash = ${successor.tokenHash}
      from owner
      where ${refreshTokens.userId} = owner.id
        and ${refreshTokens.tokenHash} = ${tokenHash}
        and ${refreshTokens.usedAt} is null
        and ${refreshTokens.revokedAt} is null
        and ${refreshTokens.expiresAt} > ${now}
      returning ${refreshTokens.userId}, ${refreshTokens.familyId}, ${refreshTokens.tokenHash}`)
    const added = this.db.$with('added', {}).as(sql`
      insert into ${refreshTokens} (token_hash, user_id, family_id, created_at, expires_at)
      select ${successor.tokenHash}, used.user_id, used.family_id,
        ${now}, ${toMoment(successor.expiresAt)}
      from used`)
    const rows = await this.db
      .with(owner, used, added)
      .select({
        id: owner.id,
        teamId: owner.teamId,
        email: owner.email,
        passwordHash: owner.passwordHash,
        role: owner.role,
        familyId: used.familyId,
        tokenHash: used.tokenHash,
      })
      .from(owner)
      .innerJoin(used, eq(used.userId, owner.id))
    const row = askedRow(rows, (one) => one.tokenHash === tokenHash)
    if (row === null) return null
    const { familyId, tokenHash: _, ...user } = row
    return { user, familyId }
  }

  async refreshTokenState(tokenHash: string): Promise<RefreshTokenState | null> {
    const successors = alias(refreshTokens, 'successors')
    const rows = await this.db
      .select({ token: refreshTokens, user: USER, successor: successors })
      .from(refreshTokens)
      .innerJoin(users, eq(users.id, refreshTokens.userId))
      .leftJoin(successors, eq(successors.tokenHash, refreshTokens.successorHash))
      .where(eq(refreshTokens.tokenHash, tokenHash))
    const row = askedRow(rows, ({ token }) => token.tokenHash === tokenHash)
    if (row === null) return null
    const { token, user, successor } = row
    const { familyId, usedAt, revokedAt, successorHash } = token
    const hasUnusedSuccessor = successor?.usedAt === null && successor.revokedAt === null
    return { user, familyId, usedAt, revokedAt, successorHash, hasUnusedSuccessor }
  }

  /** Tells whether a family has a token that is neither revoked nor expired. */
  isOpen(familyId: string, now: Date): Promise<boolean> {
    return isSessionOpen(this.db, familyId, now)
  }

  /** Revokes all tokens of a user's family; with the audit record if any of them was in force. */
  async endFamily(
    { id, teamId }: User,
    familyId: string,
    { at, audit }: { readonly at: Date; readonly audit: NewAuditRecord },
  ): Promise<void> {
    await this.db.transaction(async (tx) => {
      await lockTeam(tx, teamId)
      await tx.select({ id: users.id }).from(users).where(eq(users.id, id)).for('no key update')
      const ended = await tx
        .update(refreshTokens)
        .set({ revokedAt: at })
        .where(and(eq(refreshTokens.familyId, familyId), isNull(refreshTokens.revokedAt)))
        .returning({ tokenHash: refreshTokens.tokenHash })
      await forgetProvided(tx, familyId)
      if (ended.length > 0) await insertAuditRecord(tx, audit)
    })
  }

  async hasUsers(): Promise<boolean> {
    return (await askTwice(this.db, findAnyone)) !== null
  }

  /** Creates team and owner if there are no users at all, one process at a time. */
  async addFirstOwner(team: NewTeam, owner: User & { createdAt: Date }): Promise<boolean> {
    if (await this.hasUsers()) return false
    return withAdvisoryLock(this.db, 'first_owner', async (tx) => {
      if ((await findAnyone(tx)) !== null) return false
      await tx.insert(teams).values(team)
      await tx.insert(users).values(owner)
      return true
    })
  }
}

async function findAnyone(db: Pick<Database, 'select'>): Promise<{ readonly id: string } | null> {
  const [anyone] = await db.select({ id: users.id }).from(users).limit(1)
  return anyone ?? null
}

/** Deletes what the identity provider gave for a session: it is a secret, and of no more use. */
export async function forgetProvided(tx: Transaction, familyId: string): Promise<void> {
  await tx.delete(signOnSessions).where(eq(signOnSessions.familyId, familyId))
}

/**
 * Starts a family with its first token, and deletes the user's tokens that have expired.
 *
 * @returns the user as they are now; null if they were removed or changed their password
 */
export async function addFamily(
  tx: Transaction,
  { id, passwordHash }: Pick<User, 'id' | 'passwordHash'>,
  familyId: string,
  token: NewRefreshToken,
): Promise<User | null> {
  const owner = tx.$with('owner', USER).as(sql`
    select * from ${users}
    where ${users.id} = ${id} and ${users.passwordHash} = ${passwordHash}
    for no key update`)
  const expired = tx.$with('expired', {}).as(sql`
    delete from ${refreshTokens} using owner
    where ${refreshTokens.userId} = owner.id
      and ${refreshTokens.expiresAt} <= ${toMoment(token.createdAt)}`)
  const added = tx.$with('added', {}).as(sql`
    insert into ${refreshTokens} (token_hash, user_id, family_id, created_at, expires_at)
    select ${token.tokenHash}, owner.id, ${familyId},
      ${toMoment(token.createdAt)}, ${toMoment(token.expiresAt)}
    from owner`)
  const rows = await tx.with(owner, expired, added).select().from(owner)
  return askedRow(rows, (row) => row.id === id)
}

/** A parameter where PostgreSQL can't tell by itself that it is a moment. */
function toMoment(date: Date) {
  return sql`${sql.param(date, refreshTokens.createdAt)}::timestamptz`
}
