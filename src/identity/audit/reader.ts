import { and, asc, desc, eq, gt, gte, inArray, lt, not, sql } from 'drizzle-orm'
import { DatabaseStore } from '../../platform/db/client.ts'
import { parseStoredJson } from '../../platform/json.ts'
import { makePage, type Page, type PageRequest, rowsToRead } from '../../platform/paging.ts'
import { auditLog } from '../../tables/audit.ts'
import { users } from '../../tables/auth.ts'
import { type NewAuditRecord, READS } from './record.ts'
import { insertAuditRecord } from './writer.ts'

/** Which records are listed: what was changed, what was only read or exported, or both. */
type AuditKind = 'changes' | 'reads' | 'all'

/** Absent means all, but for `kind`. */
export interface AuditLogFilter {
  /** Id of whoever did it. */
  readonly actor?: string | undefined
  /** An action, or all of a domain: `deployment.` */
  readonly action?: string | undefined
  /** Id of the changed object. */
  readonly subject?: string | undefined
  readonly fromMs: number
  readonly toMs: number
  readonly kind: AuditKind
}

/** A management change from the audit log. */
export type AuditRecord = Omit<NewAuditRecord, 'teamId' | 'action' | 'claim' | 'credential'> & {
  readonly action: string
}

/** A record with its place in the order of the changes. */
export type PlacedRecord = AuditRecord & { readonly position: number }

const RECORD = {
  id: auditLog.id,
  actor: auditLog.actor,
  action: auditLog.action,
  subject: auditLog.subject,
  // Reads JSON as text, because a driver would parse it with JSON.parse; see `parseStoredJson`.
  before: sql<string | null>`${auditLog.before}::text`,
  after: sql<string | null>`${auditLog.after}::text`,
  reason: auditLog.reason,
  createdAt: auditLog.createdAt,
}

export class AuditLogStore extends DatabaseStore {
  /** A team's records, newest first. */
  async ofTeam(
    teamId: string,
    { actor, action, subject, fromMs, toMs, kind }: AuditLogFilter,
    page: PageRequest,
  ): Promise<Page<AuditRecord>> {
    const isRead = inArray(auditLog.action, [...READS])
    const isAction = action?.endsWith('.')
      ? sql`starts_with(${auditLog.action}, ${action})`
      : action && eq(auditLog.action, action)
    const rows = await this.db
      .select(RECORD)
      .from(auditLog)
      .where(
        and(
          eq(auditLog.teamId, teamId),
          subject === undefined ? undefined : eq(auditLog.subject, subject),
          actor === undefined ? undefined : eq(auditLog.actor, actor),
          isAction || undefined,
          kind === 'all' ? undefined : kind === 'reads' ? isRead : not(isRead),
          Number.isFinite(fromMs) ? gte(auditLog.createdAt, new Date(fromMs)) : undefined,
          Number.isFinite(toMs) ? lt(auditLog.createdAt, new Date(toMs)) : undefined,
          page.cursor === undefined
            ? undefined
            : lt(auditLog.position, this.positionQuery(teamId, page.cursor)),
        ),
      )
      .orderBy(desc(auditLog.position))
      .limit(rowsToRead(page))
    return makePage(rows.map(readRecord), page)
  }

  /**
   * The next records of a team after a position, in the order of the changes.
   *
   * @param after a position, 0 for the first
   */
  async following(teamId: string, after: number, limit: number): Promise<readonly PlacedRecord[]> {
    const rows = await this.db
      .select({ ...RECORD, position: auditLog.position })
      .from(auditLog)
      .where(and(eq(auditLog.teamId, teamId), gt(auditLog.position, after)))
      .orderBy(asc(auditLog.position))
      .limit(limit)
    return rows.map(readRecord)
  }

  /** Addresses of members by id; those who were removed have the address of their removal. */
  async emails(teamId: string, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (ids.length === 0) return new Map()
    const present = await this.db
      .select({ id: users.id, email: users.email })
      .from(users)
      .where(and(eq(users.teamId, teamId), inArray(users.id, [...ids])))
    const removed = await this.db
      .select({ id: auditLog.subject, email: sql<string>`${auditLog.before} ->> 'email'` })
      .from(auditLog)
      .where(
        and(
          eq(auditLog.teamId, teamId),
          eq(auditLog.action, 'member.delete'),
          inArray(auditLog.subject, [...ids]),
        ),
      )
    return new Map([...removed, ...present].map(({ id, email }) => [id, email]))
  }

  /** The position of a record of the team; null if it has none with this id. */
  async findPosition(teamId: string, recordId: string): Promise<number | null> {
    const [row] = await this.db
      .select({ position: auditLog.position })
      .from(auditLog)
      .where(and(eq(auditLog.teamId, teamId), eq(auditLog.id, recordId)))
    return row?.position ?? null
  }

  /** Stores a record, and returns its position. */
  async add(record: NewAuditRecord): Promise<number> {
    return this.db.transaction(async (tx) => {
      await insertAuditRecord(tx, record)
      const [row] = await tx
        .select({ position: auditLog.position })
        .from(auditLog)
        .where(eq(auditLog.id, record.id))
      if (row === undefined) throw new TypeError('a record that was just stored is not there')
      return row.position
    })
  }

  /**
   * Position of the cursor's record. Records are never deleted, so an unknown cursor finds nothing.
   */
  private positionQuery(teamId: string, recordId: string) {
    const found = this.db
      .select({ position: auditLog.position })
      .from(auditLog)
      .where(and(eq(auditLog.teamId, teamId), eq(auditLog.id, recordId)))
    return sql<number>`(${found})`
  }
}

function readRecord<Row extends { before: string | null; after: string | null }>(row: Row) {
  return { ...row, before: readDocument(row.before), after: readDocument(row.after) }
}

/** Both columns hold objects; see `NewAuditRecord`. */
function readDocument(text: string | null): object | null {
  return text === null ? null : (parseStoredJson(text) as object)
}
