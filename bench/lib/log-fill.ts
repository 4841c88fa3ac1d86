import { createHash } from 'node:crypto'
import { sql } from 'drizzle-orm'
import type { Applicant } from '../../src/engine/index.ts'
import { type Database, rowsOf } from '../../src/platform/db/client.ts'
import { BlockEncoder } from '../../src/score-log/blocks/block-encoder.ts'
import { insertOf } from '../../src/score-log/blocks/insert-block.ts'
import { PostgresBlockTables } from '../../src/score-log/blocks/upkeep/block-tables.ts'
import { PostgresLogTables } from '../../src/score-log/retention/partitions.ts'
import { testModel } from '../../test/support/score-log/record-payloads.ts'
import { done } from './fleet.ts'
import { ScoreRecords } from './logged-scores.ts'

const HOUR_MS = 3_600_000
const DAY_HOURS = 24
/** As a merge and the drain make them. */
const MERGED_RECORDS = 8_192
const DRAINED_RECORDS = 250

/** A deployment of a new database, with a key for it. */
export interface Deployed {
  readonly teamId: string
  readonly deploymentId: string
  readonly modelId: string
  /** Hex, over the stored text of the card. */
  readonly specSha256: string
  readonly slug: string
  readonly key: string
}

/** Deploys a card as the only one of a new database. */
export async function deployOnly(
  url: string,
  token: string,
  db: Database,
  spec: object,
): Promise<Deployed> {
  const order = { spec, environment: 'production', auto_deploy: true }
  const { deployment } = await done(`${url}/v1/models/deploy`, token, order)
  const { slug } = deployment as { slug: string }
  const scopes = ['score', 'read']
  const { key } = await done(`${url}/v1/keys`, token, { name: 'bench', scopes })
  const [row] = await rowsOf<{ id: string; team: string; model: string; spec: string }>(
    db,
    sql`select deployments.id, deployments.team_id as team, champion_model_id as model,
        spec::text as spec
      from deployments join models on models.id = champion_model_id`,
  )
  if (row === undefined) throw new Error('nothing was deployed')
  const specSha256 = createHash('sha256').update(row.spec).digest('hex')
  return {
    teamId: row.team,
    deploymentId: row.id,
    modelId: row.model,
    specSha256,
    slug,
    key: String(key),
  }
}

export interface FillOptions {
  readonly spec: object
  readonly applicants: readonly Applicant[]
  readonly scores: number
  /** Days up to now over which the scores are spread evenly. */
  readonly days: number
  /** Receives each score, from the oldest to the newest. */
  readonly onScore: (requestId: string, atMs: number) => void
}

export interface Filled {
  readonly seconds: number
  readonly blocks: number
}

/**
 * Fills the log with real results of real applicants, which the block encoder writes as merged
 * hours, and as blocks of the drain's size in the present hour.
 */
export async function fillLog(
  db: Database,
  { teamId, deploymentId, modelId, specSha256 }: Deployed,
  { spec, applicants, scores, days, onScore }: FillOptions,
): Promise<Filled> {
  const startedMs = performance.now()
  const endMs = Date.now()
  const startMs = Math.floor(endMs / HOUR_MS) * HOUR_MS - (days * DAY_HOURS - 1) * HOUR_MS
  const dayMs = DAY_HOURS * HOUR_MS
  const partitions = Array.from({ length: days + 1 }, (_, day) => startMs + day * dayMs)
  await new PostgresLogTables(db).makePartitions(partitions.map((ms) => ms - (ms % dayMs)))
  const model = testModel(spec, modelId)
  const models = new Map([[modelId, model.model]])
  const scored = { ...model, specSha256 }
  const records = new ScoreRecords(scored, applicants, { teamId, deploymentId })
  const stepMs = (endMs - startMs) / scores
  let blocks = 0
  let at = 0
  while (at < scores) {
    const hour = Math.floor((startMs + at * stepMs) / HOUR_MS)
    const isOver = (hour + 1) * HOUR_MS <= Math.floor(endMs / HOUR_MS) * HOUR_MS
    const recordsMax = isOver ? MERGED_RECORDS : DRAINED_RECORDS
    const encoder = new BlockEncoder(models)
    while (at < scores && encoder.records < recordsMax) {
      const atMs = Math.floor(startMs + at * stepMs)
      if (Math.floor(atMs / HOUR_MS) !== hour) break
      const { payload, requestId } = records.single(atMs)
      encoder.add(payload)
      onScore(requestId, atMs)
      at++
    }
    const block = encoder.encode()
    if (block !== null) await db.execute(insertOf(block, { isSummed: false, sources: null }))
    blocks++
  }
  const tables = new PostgresBlockTables(db, { compiled: async () => models })
  while ((await tables.rollUp()) > 0);
  await db.execute(sql`vacuum analyze score_blocks`)
  return { seconds: (performance.now() - startedMs) / 1_000, blocks }
}
