import { and, desc, eq, lt, sql } from 'drizzle-orm'
import type { Database } from '../platform/db/client.ts'
import { parseStoredJson } from '../platform/json.ts'
import { type Page, type PageRequest, pageOf, rowsToRead } from '../platform/paging.ts'
import { auditLog } from '../tables/audit.ts'
import type { AuditLogFilter, AuditLogStore, AuditRecord } from './service.ts'

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
      .select({
        id: auditLog.id,
        actor: auditLog.actor,
        action: auditLog.action,
        subject: auditLog.subject,
        // Reads JSON as text, because a driver would parse it with JSON.parse; see
        // `parseStoredJson`.
        before: sql<string | null>`${auditLog.before}::text`,
        after: sql<string | null>`${auditLog.after}::text`,
        reason: auditLog.reason,
        createdAt: auditLog.createdAt,
      })
      .from(auditLog)
      .where(
        and(
          eq(auditLog.teamId, teamId),
          subject === undefined ? undefined : eq(auditLog.subject, subject),
          page.cursor === undefined
            ? undefined
            : lt(auditLog.position, this.positionOf(teamId, page.cursor)),
        ),
      )
      .orderBy(desc(auditLog.position))
      .limit(rowsToRead(page))
    const records = rows.map((row) => ({
      ...row,
      before: documentOf(row.before),
      after: documentOf(row.after),
    }))
    return pageOf(records, page)
  }

  /**
   * Position of the cursor's record. Records are never deleted, so an unknown cursor finds nothing.
   */
  private positionOf(teamId: string, recordId: string) {
    const found = this.db
      .select({ position: auditLog.position })
      .from(auditLog)
      .where(and(eq(auditLog.teamId, teamId), eq(auditLog.id, recordId)))
    return sql<number>`(${found})`
  }
}

/** Both columns hold objects; see `NewAuditRecord`. */
function documentOf(text: string | null): object | null {
  return text === null ? null : (parseStoredJson(text) as object)
}
