import { and, count, eq, inArray } from 'drizzle-orm'
import type { Role } from '../../http/access/caller.ts'
import { managerNow } from '../../http/access/manager-store.ts'
import { DatabaseStore, type Transaction } from '../../platform/db/client.ts'
import { type Page, type PageRequest, readPage } from '../../platform/paging.ts'
import { refreshTokens, users } from '../../tables/auth.ts'
import type { Actor, NewAuditRecord } from '../audit/record.ts'
import { insertAuditRecord, lockTeam } from '../audit/writer.ts'
/** A user as members of the team see them. */
export interface Member {
  readonly id: string
  readonly teamId: string
  readonly email: string
  readonly role: Role
  readonly createdAt: Date
  /** Null until the first sign-in. */
  readonly lastSignInAt: Date | null
}

export type MemberChange =
  | { readonly kind: 'add'; readonly member: NewMember; readonly audit: NewAuditRecord }
  | { readonly kind: 'set_role'; readonly role: Role; readonly audit: NewAuditRecord }
  | { readonly kind: 'remove'; readonly audit: NewAuditRecord }
  /** Ends all sessions of the member as well. */
  | { readonly kind: 'set_password'; readonly passwordHash: string; readonly audit: NewAuditRecord }

export type NewMember = Member & { readonly passwordHash: string }

/** State of a team that can't change before the change itself is made. */
export interface TeamState {
  /** The user or service account that changes it; null for the operator, and if removed. */
  readonly manager: { readonly role: Role } | null
  /** The member to change; null if the member does not exist. */
  readonly member: Member | null
  readonly ownersCount: number
}

const MEMBER = {
  id: users.id,
  teamId: users.teamId,
  email: users.email,
  role: users.role,
  createdAt: users.createdAt,
  lastSignInAt: users.lastSignInAt,
}

/** Members of teams in PostgreSQL. */
export class MemberStore extends DatabaseStore {
  /** The members of a team, newest first. */
  list(teamId: string, page: PageRequest): Promise<Page<Member>> {
    return readPage(this.db.select(MEMBER).from(users), page, users.id, eq(users.teamId, teamId))
  }

  /** The user with this address, in any team. */
  async findByEmail(email: string): Promise<Member | null> {
    const [row] = await this.db.select(MEMBER).from(users).where(eq(users.email, email))
    return row ?? null
  }

  /**
   * Calls `decide` with the present state of the team and makes the change that it returns, with
   * its audit record, in one transaction. No other change in the team overlaps it. Nothing changes
   * if `decide` returns null or throws.
   *
   * @param memberId id of the member to add or to change
   * @returns the state before the change, or null if another user has the address of the new member
   */
  change(
    { userId, teamId }: Actor,
    memberId: string,
    decide: (state: TeamState) => MemberChange | null,
  ): Promise<TeamState | null> {
    return this.db.transaction(async (tx) => {
      await lockTeam(tx, teamId)
      const before = await readState(tx, { userId, teamId }, memberId)
      const change = decide(before)
      if (change === null) return before
      if (change.kind === 'add' && !(await insertMember(tx, change.member))) return null
      // Before a removal: whoever removes themselves has no session after it.
      await insertAuditRecord(tx, change.audit)
      if (change.kind !== 'add') await alterMember(tx, memberId, change)
      return before
    })
  }
}

/** @returns false without inserting anything if a user of any team has the address */
export async function insertMember(tx: Transaction, member: NewMember): Promise<boolean> {
  const inserted = await tx
    .insert(users)
    .values(member)
    .onConflictDoNothing({ target: users.email })
    .returning({ id: users.id })
  return inserted.length > 0
}

async function readState(
  tx: Transaction,
  { userId, teamId }: Actor,
  memberId: string,
): Promise<TeamState> {
  const rows = await tx
    .select(MEMBER)
    .from(users)
    .where(and(eq(users.teamId, teamId), inArray(users.id, [userId, memberId])))
  const [owners] = await tx
    .select({ count: count() })
    .from(users)
    .where(and(eq(users.teamId, teamId), eq(users.role, 'owner')))
  const find = (id: string) => {
    const row = rows.find((found) => found.id === id)
    return row ?? null
  }
  const manager = await managerNow(tx, { userId, teamId })
  return { manager, member: find(memberId), ownersCount: owners?.count ?? 0 }
}

/** Locks the user's row before their refresh tokens, like every other transaction. */
async function alterMember(
  tx: Transaction,
  memberId: string,
  change: Exclude<MemberChange, { kind: 'add' }>,
): Promise<void> {
  const isMember = eq(users.id, memberId)
  if (change.kind === 'remove') {
    await tx.delete(users).where(isMember)
  } else if (change.kind === 'set_role') {
    await tx.update(users).set({ role: change.role }).where(isMember)
  } else {
    await tx.update(users).set({ passwordHash: change.passwordHash }).where(isMember)
    await tx.delete(refreshTokens).where(eq(refreshTokens.userId, memberId))
  }
}
