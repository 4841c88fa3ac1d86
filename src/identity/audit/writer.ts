import { and, eq, inArray, sql } from 'drizzle-orm'
import { AppError } from '../../errors.ts'
import type { IdempotencyClaim } from '../../http/access/caller.ts'
import type { Transaction } from '../../platform/db/client.ts'
import { auditLog } from '../../tables/audit.ts'
import { idempotencyKeys } from '../../tables/idempotency.ts'
import { insertEvent } from '../outbox/writer.ts'
import { makeEvents } from './audited-event.ts'
import { isInForce } from './credentials.ts'
import { lockTeam } from './lock-team.ts'
import type { NewAuditRecord } from './record.ts'
import { noteForStream } from './stream.ts'

/**
 * Records a change in the transaction that makes it, so that both are committed or neither; the
 * events that webhooks get of it, too.
 *
 * It locks the team until the transaction ends, so that the log's positions follow the order of the
 * commits. Changes of existing rows lock the team earlier, before they read; pure inserts need not.
 *
 * @throws AppError `idempotency_in_progress` if another request has taken over the record's claim;
 *   `unauthorized` if the session or token of its actor has ended: a replica may remember it for a
 *   minute, and what is made with it would last
 */
export async function insertAuditRecord(
  tx: Transaction,
  { claim, credential, consequences = [], ...record }: NewAuditRecord,
): Promise<void> {
  await lockTeam(tx, record.teamId)
  if (credential !== undefined && !(await isInForce(tx, credential, record.createdAt))) {
    throw new AppError('unauthorized', 'the session or token has ended: sign in again')
  }
  if (claim !== undefined) await noteChange(tx, claim)
  await tx.insert(auditLog).values(record)
  for (const event of makeEvents(record, consequences)) await insertEvent(tx, event)
  noteForStream(tx, record)
}

/**
 * Notes that the change of a claim is made. Whatever happens to the process or to the connection
 * next, no later request with the same `Idempotency-Key` makes the change again.
 */
async function noteChange(
  tx: Transaction,
  { keyHash, otherKeyHash, claimId }: IdempotencyClaim,
): Promise<void> {
  const hashes = otherKeyHash === null ? [keyHash] : [keyHash, otherKeyHash]
  const noted = await tx
    .update(idempotencyKeys)
    .set({ changedAt: sql`now()` })
    .where(and(inArray(idempotencyKeys.keyHash, hashes), eq(idempotencyKeys.claimId, claimId)))
    .returning({ claimId: idempotencyKeys.claimId })
  if (noted.length === hashes.length) return
  const message = 'another request with this Idempotency-Key is under way'
  throw new AppError('idempotency_in_progress', message, { retryAfterMs: 1_000 })
}
