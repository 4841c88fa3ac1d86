import type { Transaction } from '../db/client.ts'
import { auditLog } from '../db/tables/audit.ts'
import type { NewAuditRecord } from './record.ts'

/** Writes down a change in the transaction that makes it: both happen or neither. */
export async function insertAuditRecord(tx: Transaction, record: NewAuditRecord): Promise<void> {
  await tx.insert(auditLog).values(record)
}
