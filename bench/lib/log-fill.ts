import { createHash } from 'node:crypto'
import { sql } from 'drizzle-orm'
import type { Applicant } from '../../src/engine/index.ts'
import { encodeByHour } from '../../src/log/blocks/encode-blocks.ts'
import { BlockTables } from '../../src/log/blocks/upkeep/block-tables.ts'
import { ScoreLogStore } from '../../src/log/drain/store.ts'
import { LogTables } from '../../src/log/retention/partitions.ts'
import { type Database, queryRows } from '../../src/platform/db/client.ts'
import { testModel } from '../../test/support/score-log/record-payloads.ts'
import { done } from './fleet.ts'
import { ScoreRecords } from './logged-scores.ts'

const HOUR_MS = 3_600_000
const DAY_HOURS = 24
/** As a merge and the drain make them. */
const MERGED_RECORDS = 8_192
const DRAINED_RECORDS = 250
const PROGRESS_EVERY = 1_000_000

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
  const [row] = await queryRows<{ id: string; team: string; model: string; spec: string }>(
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
 * Fills the log with real results of real applicants. The drain's own store writes them, with
 * trees and sums: hours that are over in blocks as large as a merge makes them, and the present
 * hour in blocks of the drain's size.
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
  await new LogTables(db).makePartitions(partitions.map((ms) => ms - (ms % dayMs)))
  const model = testModel(spec, modelId)
  const models = new Map([[modelId, model.model]])
  const source = { compiled: async () => models }
  const store = new ScoreLogStore(db, source)
  const scored = { ...model, specSha256 }
  const records = new ScoreRecords(scored, applicants, { teamId, deploymentId })
  const stepMs = (endMs - startMs) / scores
  let blocks = 0
  let at = 0
  while (at < scores) {
    const hour = Math.floor((startMs + at * stepMs) / HOUR_MS)
    const isOver = (hour + 1) * HOUR_MS <= Math.floor(endMs / HOUR_MS) * HOUR_MS
    const recordsMax = isOver ? MERGED_RECORDS : DRAINED_RECORDS
    const payloads: Buffer[] = []
    while (at < scores && payloads.length < recordsMax) {
      const atMs = Math.floor(startMs + at * stepMs)
      if (Math.floor(atMs / HOUR_MS) !== hour) break
      const { payload, requestId } = records.single(atMs)
      payloads.push(payload)
      onScore(requestId, atMs)
      at++
      if (at % PROGRESS_EVERY === 0) console.log(`${at} of ${scores} scores are stored`)
    }
    const stored = encodeByHour(payloads, models)
    await store.appendNew({ blocks: stored, position: null, erasures: 0 })
    blocks += stored.length
  }
  const tables = new BlockTables(db, source)
  while ((await tables.rollUp()) > 0);
  await db.execute(sql`vacuum analyze score_blocks`)
  return { seconds: (performance.now() - startedMs) / 1_000, blocks }
}
