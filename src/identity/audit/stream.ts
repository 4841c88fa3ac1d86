import type { Database, DatabaseHandle, Transaction } from '../../platform/db/client.ts'
import type { NewAuditRecord } from './record.ts'

/** Takes a line of the stream, without its line break. */
export type AuditLines = (line: string) => void

/** Records of open transactions whose database streams them. */
const uncommitted = new WeakMap<Transaction, NewAuditRecord[]>()

/** Notes a record that is streamed once its transaction is committed, if its database streams. */
export function noteForStream(tx: Transaction, record: NewAuditRecord): void {
  uncommitted.get(tx)?.push(record)
}

/**
 * Streams the audit records that this process commits, each after its commit and once. A record
 * whose process dies between commit and line, or whose commit was not confirmed, is in the audit
 * log and not in the stream. A record that is not committed is never streamed.
 *
 * @param write null: nothing is streamed
 */
export function withAuditStream(handle: DatabaseHandle, write: AuditLines | null): DatabaseHandle {
  if (write === null) return handle
  const { db } = handle
  const transaction: Database['transaction'] = async (work, config) => {
    const records: NewAuditRecord[] = []
    const result = await db.transaction((tx) => {
      uncommitted.set(tx, records)
      return work(tx)
    }, config)
    for (const record of records) write(formatLine(record))
    return result
  }
  // Everything but transactions is the database's own.
  const streaming: Database = Object.create(db, { transaction: { value: transaction } })
  return { ...handle, db: streaming }
}

/** A record as the export writes it, with its team, and marked: the log has the same stream. */
function formatLine(record: NewAuditRecord): string {
  const { id, teamId, actor, action, subject, before, after, reason, createdAt } = record
  return JSON.stringify({
    stream: 'audit',
    team_id: teamId,
    id,
    actor,
    action,
    subject,
    before,
    after,
    reason,
    created_at: createdAt.toISOString(),
  })
}
