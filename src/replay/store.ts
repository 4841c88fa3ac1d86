import { setTimeout } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { type Database, rowsOf } from '../platform/db/client.ts'
import { momentText } from '../rollups/rollup-rows.ts'
import { spanStart } from '../rollups/spans.ts'
import { BLOCK_COLUMNS, type BlockRow, blockOf } from '../score-log/blocks/block-rows.ts'
import { deploymentHash } from '../score-log/blocks/hashes.ts'
import type { StoredBlock } from '../score-log/blocks/stored-block.ts'
import type { BlockSamples } from './nightly.ts'
import type { ScanSizes } from './service.ts'

/** Below the deadline of a request to the database. */
const COUNT_MS = 5_000

type ApplicantQuery = Parameters<ScanSizes['applicantsOf']>[0]

/** What a replay asks PostgreSQL beside the log. */
export class PostgresReplayStore implements BlockSamples, ScanSizes {
  private readonly db: Database

  constructor(db: Database) {
    this.db = db
  }

  /**
   * All applicants of blocks that hold some of the query: an upper bound.
   *
   * @returns 0 if the database has not answered in time, or fails: no job may fail for its progress
   */
  applicantsOf(query: ApplicantQuery): Promise<number> {
    const late = setTimeout(COUNT_MS, 0, { ref: false })
    return Promise.race([this.countedApplicants(query), late]).catch(() => 0)
  }

  private async countedApplicants(query: ApplicantQuery): Promise<number> {
    // A block begins in the hour of its last request; this bound leads to the partitions.
    const startMs = Number.isFinite(query.fromMs) ? spanStart('hour', query.fromMs) : query.fromMs
    const isWanted = sql`deployments @> ${`{${deploymentHash(query.deploymentId)}}`}::integer[]
      and first_at >= ${momentText(startMs)} and first_at < ${momentText(query.toMs)}
      and last_at >= ${momentText(query.fromMs)}`
    const [row] = await rowsOf<{ applicants: number | null }>(
      this.db,
      sql`select sum(applicants)::float8 as applicants from (
          select applicants from score_blocks where superseded_at is null and ${isWanted}
          union all select applicants from score_archive_blocks where ${isWanted}
        ) as wanted`,
    )
    return row?.applicants ?? 0
  }

  async blocksSince(fromMs: number, blocksMax: number): Promise<StoredBlock[]> {
    const rows = await rowsOf<BlockRow>(
      this.db,
      sql`select ${BLOCK_COLUMNS} from score_blocks where (first_at, block_id) in (
          select first_at, block_id from score_blocks
          where first_at >= ${momentText(fromMs)} and superseded_at is null
          order by random() limit ${blocksMax}
        )`,
    )
    return rows.map(blockOf)
  }
}
