import { and, asc, desc, eq, gt, lt, sql } from 'drizzle-orm'
import type { Database } from '../platform/db/client.ts'
import { parseStoredJson } from '../platform/json.ts'
import { type Page, type PageRequest, pageOf, rowsToRead } from '../platform/paging.ts'
import { auditLog } from '../tables/audit.ts'
import type { NewAuditRecord } from './record.ts'
import type { AuditLogFilter, AuditLogStore, AuditRecord, PlacedRecord } from './service.ts'
import { insertAuditRecord } from './writer.ts'

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

/** The audit log in PostgreSQL. */
export class PostgresAuditLogStore implements AuditLogStore {
  private readonly db: Database

  constructor(db: Database) {
    this.db = db
  }

  async ofTeam(
    teamId: string,
    { subject }: AuditLogFilter,
    page: PageRequest,
  ): Promise<Page<AuditRecord>> {
    const rows = await this.db
      .select(RECORD)
      .from(auditLog)
      .where(
        and(
          eq(auditLog.teamId, teamId),
          subject === undefined ? undefined : eq(auditLog.subject, subject),
          page.cursor === undefined
            ? undefined
            : lt(auditLog.position, this.positionQuery(teamId, page.cursor)),
        ),
      )
      .orderBy(desc(auditLog.position))
      .limit(rowsToRead(page))
    return pageOf(rows.map(recordOf), page)
  }

  async following(teamId: string, after: number, limit: number): Promise<readonly PlacedRecord[]> {
    const rows = await this.db
      .select({ ...RECORD, position: auditLog.position })
      .from(auditLog)
      .where(and(eq(auditLog.teamId, teamId), gt(auditLog.position, after)))
      .orderBy(asc(auditLog.position))
      .limit(limit)
    return rows.map(recordOf)
  }

  async positionOf(teamId: string, recordId: string): Promise<number | null> {
    const [row] = await this.db
      .select({ position: auditLog.position })
      .from(auditLog)
      .where(and(eq(auditLog.teamId, teamId), eq(auditLog.id, recordId)))
    return row?.position ?? null
  }

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

function recordOf<Row extends { before: string | null; after: string | null }>(row: Row) {
  return { ...row, before: documentOf(row.before), after: documentOf(row.after) }
}

/** Both columns hold objects; see `NewAuditRecord`. */
function documentOf(text: string | null): object | null {
  return text === null ? null : (parseStoredJson(text) as object)
}
