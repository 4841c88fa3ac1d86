import { asc } from 'drizzle-orm'
import { auditLog } from '../../../src/tables/audit.ts'
import { withDatabase } from '../start/seeded-database.ts'
import type { TestService } from '../start/service.ts'

export type AuditRow = typeof auditLog.$inferSelect

/** Ends the service and reads what it wrote into the audit log, oldest first. */
export async function auditAtTheEnd(service: TestService): Promise<AuditRow[]> {
  await service.app.close()
  await service.services.close()
  return withDatabase(service.config, (db) =>
    db.select().from(auditLog).orderBy(asc(auditLog.createdAt), asc(auditLog.id)),
  )
}
