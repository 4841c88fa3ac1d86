import { sql } from 'drizzle-orm'
import type { CompiledModel } from '../../src/engine/index.ts'
import { BlockEncoder } from '../../src/log/blocks/block-encoder.ts'
import { makeInsert } from '../../src/log/blocks/block-rows.ts'
import { BlockTables } from '../../src/log/blocks/upkeep/block-tables.ts'
import { writeDrainedSources } from '../../src/log/proof/block-sources.ts'
import { LogTables } from '../../src/log/retention/partitions.ts'
import type { Database } from '../../src/platform/db/client.ts'
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
  await new LogTables(db).makePartitions(starts)
  const stepMs = (endMs - startMs) / scores
  const readTime = (at: number) => Math.floor(startMs + at * stepMs)
  const sources = writeDrainedSources([])
  let blocks = 0
  for (let at = 0; at < scores; ) {
    const hour = Math.floor(readTime(at) / HOUR_MS)
    const encoder = new BlockEncoder(models)
    while (at < scores && encoder.records < MERGED_RECORDS) {
      if (Math.floor(readTime(at) / HOUR_MS) !== hour) break
      encoder.add(records.single(readTime(at)).payload)
      at++
    }
    const block = encoder.encode()
    if (block !== null) await db.execute(makeInsert(block, { isSummed: false, sources }))
    blocks++
  }
  const tables = new BlockTables(db, { compiled: async () => models })
  while ((await tables.rollUp()) > 0);
  await db.execute(sql`vacuum analyze score_blocks`)
  return blocks
}
