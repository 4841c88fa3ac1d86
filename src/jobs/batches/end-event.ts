import { sql } from 'drizzle-orm'
import { insertEvent } from '../../identity/outbox.ts'
import { epochMs, queryRows, type Transaction } from '../../platform/db/client.ts'
import { parseStoredJson } from '../../platform/json.ts'

interface EndRow {
  readonly team_id: string
  readonly deployment_id: string
  readonly environment: string
  readonly status: string
  readonly scored: number
  readonly errors: number
  readonly warned: number
  readonly finished_ms: number
  readonly failure: string | null
}

/**
 * Tells webhooks that a batch is done, failed or cancelled, in the transaction that ends its job:
 * once, and only if it is so. It names ids, counts and the code of an error. The message stays out:
 * it can quote a name from the file.
 */
export async function tellBatchEnded(tx: Transaction, batchId: string): Promise<void> {
  const [row] = await queryRows<EndRow>(
    tx,
    sql`select b.team_id, b.deployment_id, b.environment, j.status, b.scored::float8 as scored,
        b.errors::float8 as errors, b.warned::float8 as warned,
        ${epochMs(sql`j.finished_at`)} as finished_ms, j.failure::text as failure
      from batches b join jobs j on j.id = b.id where b.id = ${batchId}`,
  )
  if (row === undefined) return
  const { team_id: teamId, deployment_id, environment, status, scored, errors, warned } = row
  const failure = row.failure === null ? null : (parseStoredJson(row.failure) as { code: string })
  await insertEvent(tx, {
    teamId,
    type: 'batch.ended',
    at: new Date(row.finished_ms),
    data: {
      batch_id: batchId,
      deployment_id,
      environment,
      status,
      counts: { scored, errors, warned },
      ...(failure !== null && { error: failure.code }),
    },
    onceKey: `batch.ended/${batchId}`,
  })
}
