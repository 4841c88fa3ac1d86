import { and, eq, gt, inArray, isNull, lte, notInArray, or } from 'drizzle-orm'
import { askedRow, askTwice } from '../../../platform/db/asked-rows.ts'
import { type Database, DatabaseStore, type Transaction } from '../../../platform/db/client.ts'
import {
  refreshTokens,
  signOnIdentities,
  signOnSessions,
  teams,
  users,
} from '../../../tables/auth.ts'
import type { NewAuditRecord } from '../../audit/record.ts'
import { insertAuditRecord, lockTeam } from '../../audit/writer.ts'
import { describeClient } from '../client.ts'
import { NO_PASSWORD } from '../passwords.ts'
import { addFamily, USER, type User } from '../store.ts'
import type { CheckedSession, KeptAnswer, ProvidedSession, SessionsEnd, SignOn } from './sign-on.ts'

/** Reason of a change of a role in the audit log. */
export const BY_GROUPS = 'groups of the identity provider'

/** Identities and sessions of single sign-on in PostgreSQL. */
export class SignOnStore extends DatabaseStore {
  /**
   * Signs a person on in one transaction: finds, links or makes their member, sets the role, and
   * starts the session, with the audit records.
   *
   * @returns the member, or why there is none
   */
  async signOn(order: SignOn): Promise<User | 'team' | 'member'> {
    const { issuer, subject } = order
    const known = await askTwice(this.db, (db) => findUser(db, issuer, subject))
    const teamId = known?.teamId ?? (await this.findTeam(order.teamId))
    if (teamId === null) return 'team'
    return this.db.transaction(async (tx) => {
      await lockTeam(tx, teamId)
      // Another request may have made or removed the member meanwhile.
      const member = (await findUser(tx, issuer, subject)) ?? (await joined(tx, order, teamId))
      // The account that is there against the provider may have been linked before it was named.
      if (member === null || member.email === order.breakGlassEmail) return 'member'
      if (member.role !== order.role) {
        const what = { before: { role: member.role }, after: { role: order.role } }
        const change = { action: 'member.update', subject: member.id, ...what } as const
        await setRole(tx, member, order.role)
        await insertAuditRecord(tx, order.makeAudit(member, { ...change, reason: BY_GROUPS }))
      }
      return startSession(tx, { ...member, role: order.role }, order)
    })
  }

  /** The member of a person; null if they have never signed on. */
  findUser(issuer: string, subject: string): Promise<User | null> {
    return findUser(this.db, issuer, subject)
  }

  /** The user of any team with this address. */
  async userWith(email: string): Promise<User | null> {
    const rows = await this.db.select(USER).from(users).where(eq(users.email, email))
    return askedRow(rows, (row) => row.email === email)
  }

  /** The session of a refresh token that is in force and unused; null: there is none. */
  async findSession(tokenHash: string, now: Date): Promise<CheckedSession | null> {
    const rows = await this.db
      .select({
        user: USER,
        familyId: refreshTokens.familyId,
        tokenHash: refreshTokens.tokenHash,
        signOn: signOnSessions.familyId,
      })
      .from(refreshTokens)
      .innerJoin(users, eq(users.id, refreshTokens.userId))
      .leftJoin(signOnSessions, eq(signOnSessions.familyId, refreshTokens.familyId))
      .where(
        and(
          eq(refreshTokens.tokenHash, tokenHash),
          isNull(refreshTokens.usedAt),
          isNull(refreshTokens.revokedAt),
          gt(refreshTokens.expiresAt, now),
        ),
      )
    const row = askedRow(rows, (one) => one.tokenHash === tokenHash)
    if (row === null) return null
    const { user, familyId, signOn } = row
    return { user, familyId, isSignOn: signOn !== null }
  }

  /**
   * Takes the right to ask the provider for a session.
   *
   * @returns what to ask with, as it is now; null while another request has the right
   */
  async beginAsking(familyId: string, now: Date, until: Date): Promise<ProvidedSession | null> {
    const { askingUntil, subject, sealedTokens } = signOnSessions
    const [begun] = await this.db
      .update(signOnSessions)
      .set({ askingUntil: until })
      .where(
        and(eq(signOnSessions.familyId, familyId), or(isNull(askingUntil), lte(askingUntil, now))),
      )
      .returning({ subject, sealedTokens })
    return begun ?? null
  }

  /** Gives it back, after an answer that changes nothing. */
  async endAsking(familyId: string): Promise<void> {
    await this.db
      .update(signOnSessions)
      .set({ askingUntil: null })
      .where(eq(signOnSessions.familyId, familyId))
  }

  /** Keeps the provider's answer and gives the right back; with a new role and its record. */
  async keepAnswer(user: User, { familyId, sealedTokens, role, audit }: KeptAnswer): Promise<void> {
    await this.db.transaction(async (tx) => {
      await lockTeam(tx, user.teamId)
      await tx
        .update(signOnSessions)
        .set({ sealedTokens, askingUntil: null })
        .where(eq(signOnSessions.familyId, familyId))
      const [present] = await tx.select(USER).from(users).where(eq(users.id, user.id))
      if (present === undefined || present.role === role) return
      await setRole(tx, user, role)
      await insertAuditRecord(tx, { ...audit, before: { role: present.role } })
    })
  }

  /** Ends a session, or all that single sign-on began, with the audit record. */
  async endSessions(user: User, { familyId, at, audit }: SessionsEnd): Promise<void> {
    await this.db.transaction(async (tx) => {
      await lockTeam(tx, user.teamId)
      await tx
        .select({ id: users.id })
        .from(users)
        .where(eq(users.id, user.id))
        .for('no key update')
      const ofSignOn = tx
        .select({ familyId: signOnSessions.familyId })
        .from(signOnSessions)
        .where(eq(signOnSessions.userId, user.id))
      const isEnded =
        familyId === null
          ? inArray(refreshTokens.familyId, ofSignOn)
          : eq(refreshTokens.familyId, familyId)
      const ended = await tx
        .update(refreshTokens)
        .set({ revokedAt: at })
        .where(and(isEnded, isNull(refreshTokens.revokedAt)))
        .returning({ familyId: refreshTokens.familyId })
      // What the provider gave is of no more use, and a secret.
      await tx
        .delete(signOnSessions)
        .where(
          familyId === null
            ? eq(signOnSessions.userId, user.id)
            : eq(signOnSessions.familyId, familyId),
        )
      if (ended.length > 0) await insertAuditRecord(tx, audit)
    })
  }

  async record(audit: NewAuditRecord): Promise<void> {
    await this.db.transaction((tx) => insertAuditRecord(tx, audit))
  }

  /** The team of this id, or the only one; null if there is none, or more than one. */
  private async findTeam(teamId: string | null): Promise<string | null> {
    const found = await this.db
      .select({ id: teams.id })
      .from(teams)
      .where(teamId === null ? undefined : eq(teams.id, teamId))
      .limit(2)
    return found.length === 1 ? (found[0]?.id ?? null) : null
  }
}

async function findUser(
  db: Pick<Database, 'select'>,
  issuer: string,
  subject: string,
): Promise<User | null> {
  const rows = await db
    .select({ user: USER, issuer: signOnIdentities.issuer, subject: signOnIdentities.subject })
    .from(signOnIdentities)
    .innerJoin(users, eq(users.id, signOnIdentities.userId))
    .where(and(eq(signOnIdentities.issuer, issuer), eq(signOnIdentities.subject, subject)))
  const row = askedRow(rows, (one) => one.issuer === issuer && one.subject === subject)
  return row?.user ?? null
}

async function setRole(tx: Transaction, { id }: User, role: User['role']): Promise<void> {
  await tx.update(users).set({ role }).where(eq(users.id, id))
}

/**
 * Makes the member of a person who signs on for the first time, or links the member of the team who
 * has their address and belongs to no other person.
 *
 * @returns null if the address belongs to somebody else
 */
async function joined(tx: Transaction, order: SignOn, teamId: string): Promise<User | null> {
  const { issuer, subject, email, role, token, makeAudit } = order
  if (email === order.breakGlassEmail) return null
  const createdAt = token.createdAt
  const id = order.newUserId
  const made = await tx
    .insert(users)
    .values({ id, teamId, email, passwordHash: NO_PASSWORD, role, createdAt })
    .onConflictDoNothing({ target: users.email })
    .returning(USER)
  const [member] = made
  if (member !== undefined) {
    await tx.insert(signOnIdentities).values({ issuer, subject, userId: id, createdAt })
    const after = { email, role, issuer }
    const change = { action: 'member.create', subject: id, after } as const
    await insertAuditRecord(tx, makeAudit(member, change))
    return member
  }
  return linked(tx, order, teamId)
}

/** From here on the provider decides about the member: their password and sessions end. */
async function linked(
  tx: Transaction,
  { issuer, subject, email, token, makeAudit }: SignOn,
  teamId: string,
): Promise<User | null> {
  const [member] = await tx
    .select(USER)
    .from(users)
    .where(and(eq(users.email, email), eq(users.teamId, teamId)))
    .for('no key update')
  if (member === undefined) return null
  const added = await tx
    .insert(signOnIdentities)
    .values({ issuer, subject, userId: member.id, createdAt: token.createdAt })
    .onConflictDoNothing()
    .returning({ userId: signOnIdentities.userId })
  if (added.length === 0) return null
  await tx.update(users).set({ passwordHash: NO_PASSWORD }).where(eq(users.id, member.id))
  await tx.delete(refreshTokens).where(eq(refreshTokens.userId, member.id))
  const change = { action: 'member.link', subject: member.id, after: { issuer } } as const
  await insertAuditRecord(tx, makeAudit(member, change))
  return { ...member, passwordHash: NO_PASSWORD }
}

/** @returns the member as they are now */
async function startSession(tx: Transaction, member: User, order: SignOn): Promise<User> {
  const { familyId, token, issuer, subject, sealedTokens, client } = order
  const { createdAt } = token
  const user = await addFamily(tx, member, familyId, token)
  if (user === null) throw new TypeError('a member who was just read is not there')
  await tx.update(users).set({ lastSignInAt: createdAt }).where(eq(users.id, user.id))
  const inForce = tx
    .select({ familyId: refreshTokens.familyId })
    .from(refreshTokens)
    .where(and(eq(refreshTokens.userId, user.id), isNull(refreshTokens.revokedAt)))
  const isOver = notInArray(signOnSessions.familyId, inForce)
  await tx.delete(signOnSessions).where(and(eq(signOnSessions.userId, user.id), isOver))
  await tx.insert(signOnSessions).values({ familyId, userId: user.id, subject, sealedTokens })
  const after = { ...describeClient(client), issuer }
  const change = { action: 'session.sign_in', subject: familyId, after } as const
  await insertAuditRecord(tx, order.makeAudit(user, change))
  return user
}
