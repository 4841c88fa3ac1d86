import { and, count, desc, eq, inArray, lt } from 'drizzle-orm'
import type { Actor } from '../audit/record.ts'
import { insertAuditRecord } from '../audit/store.ts'
import type { Role } from '../auth/caller.ts'
import type { Database, Transaction } from '../db/client.ts'
import { refreshTokens, users } from '../db/tables/auth.ts'
import { lockTeam } from '../db/transactions.ts'
import { type Page, type PageRequest, pageOf, rowsToRead } from '../paging.ts'
import type { Member, MemberChange, MemberStore, NewMember, TeamState } from './service.ts'

const MEMBER = {
  id: users.id,
  teamId: users.teamId,
  email: users.email,
  role: users.role,
  createdAt: users.createdAt,
}

/** Members of teams in PostgreSQL. */
export class PostgresMemberStore implements MemberStore {
  private readonly db: Database

  constructor(db: Database) {
    this.db = db
  }

  async list(teamId: string, page: PageRequest): Promise<Page<Member>> {
    const rows = await this.db
      .select(MEMBER)
      .from(users)
      .where(
        and(
          eq(users.teamId, teamId),
          page.cursor === undefined ? undefined : lt(users.id, page.cursor),
        ),
      )
      .orderBy(desc(users.id))
      .limit(rowsToRead(page))
    return pageOf(rows.map(toMember), page)
  }

  async findByEmail(email: string): Promise<Member | null> {
    const [row] = await this.db.select(MEMBER).from(users).where(eq(users.email, email))
    return row === undefined ? null : toMember(row)
  }

  change(
    { userId, teamId }: Actor,
    memberId: string,
    decide: (state: TeamState) => MemberChange | null,
  ): Promise<boolean> {
    return this.db.transaction(async (tx) => {
      await lockTeam(tx, teamId)
      const change = decide(await readState(tx, { userId, teamId }, memberId))
      if (change === null) return true
      if (change.kind === 'add') {
        if (!(await insertMember(tx, change.member))) return false
      } else await alterMember(tx, memberId, change)
      await insertAuditRecord(tx, change.audit)
      return true
    })
  }
}

/** @returns false, with nothing inserted, when the address is taken in any team */
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
    return row === undefined ? null : toMember(row)
  }
  return { manager: find(userId), member: find(memberId), ownersCount: owners?.count ?? 0 }
}

/** The user's row is locked before his refresh tokens are, as everywhere. */
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

/** The table's check holds the role to `ROLES`. */
function toMember<Row extends { readonly role: string }>(row: Row): Row & { role: Role } {
  return { ...row, role: row.role as Role }
}
