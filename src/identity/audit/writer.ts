import { and, eq, inArray, sql } from 'drizzle-orm'
import { AppError } from '../../errors.ts'
import type { IdempotencyClaim } from '../../http/access/caller.ts'
import type { Transaction } from '../../platform/db/client.ts'
import { auditLog } from '../../tables/audit.ts'
import { teams } from '../../tables/auth.ts'
import { idempotencyKeys } from '../../tables/idempotency.ts'
import { type EventType, insertEvent, type NewEvent } from '../outbox.ts'
import { isInForce } from './credentials.ts'
import type { AuditAction, Consequence, NewAuditRecord } from './record.ts'
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

/** Events that follow from a record of the audit log. */
const TYPE_OF: Partial<Record<AuditAction, EventType>> = {
  'model.deploy': 'model.deployed',
  'model.copy': 'model.deployed',
  'model.archive': 'model.archived',
  'model.restore': 'model.restored',
  'model.set_baseline': 'model.baseline_set',
  'deployment.create': 'deployment.created',
  'deployment.update': 'deployment.updated',
  'deployment.add_challenger': 'deployment.challenger_added',
  'deployment.remove_challenger': 'deployment.challenger_removed',
  'deployment.update_traffic': 'deployment.traffic_updated',
  'deployment.toggle_shadow': 'deployment.shadow_mode_set',
  'deployment.promote': 'deployment.promoted',
  'deployment.rollback': 'deployment.rolled_back',
  'deployment.set_reason_baseline': 'deployment.reason_baseline_set',
  'change_request.create': 'change_request.requested',
  'change_request.approve': 'change_request.approved',
  'change_request.decline': 'change_request.declined',
  'change_request.expire': 'change_request.expired',
  'change_request.outdate': 'change_request.outdated',
}

/** Fields of the state after the change that an event repeats: ids, numbers and switches only. */
const FIELDS = [
  ...['is_active', 'champion_model_id', 'previous_champion_model_id', 'shadow_mode'],
  ...['strict_mode', 'require_approval', 'cache_version', 'environment', 'copied_from'],
  ...['emergency', 'undone_change_request_ids', 'change_request_id', 'action', 'expires_at'],
]

type AuditedChange = Omit<NewAuditRecord, 'claim' | 'credential' | 'consequences'>

/**
 * The events of a change: its own, unless no webhook hears of such a change, and those of its
 * consequences. Their `data` has the id of the changed object as `model_id` or `deployment_id`, the
 * actor, and the id of the audit record, which has the rest for those who may read it.
 */
function makeEvents(
  record: AuditedChange,
  consequences: readonly Consequence[],
): readonly NewEvent[] {
  const type = TYPE_OF[record.action]
  const { subject, after } = record
  const own = type === undefined ? [] : [{ type, subject, after: after ?? {} }]
  return [...own, ...consequences].map((one) => makeEvent(record, one))
}

function makeEvent(record: AuditedChange, { type, subject, after }: Consequence): NewEvent {
  const fields = Object.entries(after).filter(([name]) => FIELDS.includes(name))
  const name = subject.startsWith('mod_') ? 'model_id' : 'deployment_id'
  return {
    teamId: record.teamId,
    type,
    at: record.createdAt,
    data: {
      [name]: subject,
      actor: record.actor,
      audit_record_id: record.id,
      ...Object.fromEntries(fields),
    },
  }
}

/**
 * Serialises the changes to a team until the transaction ends.
 *
 * Every change takes this lock first, so that two changes never wait for each other. Reads don't
 * take it.
 */
export async function lockTeam(tx: Transaction, teamId: string): Promise<void> {
  await tx.select({ id: teams.id }).from(teams).where(eq(teams.id, teamId)).for('no key update')
}
