import { and, desc, eq, lt, sql } from 'drizzle-orm'
import type { Database } from '../db/client.ts'
import { auditLog } from '../db/tables/audit.ts'
import { parseJson } from '../json.ts'
import { type Page, type PageRequest, pageOf, rowsToRead } from '../paging.ts'
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
        // As text: a driver's parser may mistake one name of a property for another, see `parseJson`.
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
          page.cursor === undefined ? undefined : lt(auditLog.id, page.cursor),
        ),
      )
      .orderBy(desc(auditLog.id))
      .limit(rowsToRead(page))
    const records = rows.map((row) => ({
      ...row,
      before: documentOf(row.before),
      after: documentOf(row.after),
    }))
    return pageOf(records, page)
  }
}

/** Changes are described by objects, see `NewAuditRecord`. */
function documentOf(text: string | null): object | null {
  return text === null ? null : (parseJson(text) as object)
}
