import { sql } from 'drizzle-orm'
import type { CompiledModel } from '../../src/engine/index.ts'
import type { Database } from '../../src/platform/db/client.ts'
import { BlockEncoder } from '../../src/score-log/blocks/block-encoder.ts'
import { insertOf } from '../../src/score-log/blocks/insert-block.ts'
import { PostgresBlockTables } from '../../src/score-log/blocks/upkeep/block-tables.ts'
import { PostgresLogTables } from '../../src/score-log/retention/partitions.ts'
import type { ScoreRecords } from './logged-scores.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** As a merge makes them. */
const MERGED_RECORDS = 8_192

interface FillOrder {
  readonly db: Database
  readonly records: ScoreRecords
  readonly models: ReadonlyMap<string, CompiledModel>
  readonly scores: number
  readonly days: number
}

/**
 * Fills the log with merged blocks of scores, spread evenly over the days up to the present hour.
 *
 * @returns number of blocks
 */
export async function fillMonth(order: FillOrder): Promise<number> {
  const { db, records, models, scores, days } = order
  const endMs = Math.floor(Date.now() / HOUR_MS) * HOUR_MS
  const startMs = endMs - days * DAY_MS
  const firstDayMs = startMs - (startMs % DAY_MS)
  const starts = Array.from({ length: days + 2 }, (_, day) => firstDayMs + day * DAY_MS)
  await new PostgresLogTables(db).makePartitions(starts)
  const stepMs = (endMs - startMs) / scores
  const timeOf = (at: number) => Math.floor(startMs + at * stepMs)
  let blocks = 0
  for (let at = 0; at < scores; ) {
    const hour = Math.floor(timeOf(at) / HOUR_MS)
    const encoder = new BlockEncoder(models)
    while (at < scores && encoder.records < MERGED_RECORDS) {
      if (Math.floor(timeOf(at) / HOUR_MS) !== hour) break
      encoder.add(records.single(timeOf(at)).payload)
      at++
    }
    const block = encoder.encode()
    if (block !== null) await db.execute(insertOf(block, { isSummed: false, sources: null }))
    blocks++
  }
  const tables = new PostgresBlockTables(db, { compiled: async () => models })
  while ((await tables.rollUp()) > 0);
  await db.execute(sql`vacuum analyze score_blocks`)
  return blocks
}
