import { setTimeout } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { type Database, rowsOf } from '../platform/db/client.ts'
import { momentText } from '../rollups/rollup-rows.ts'
import { spanStart } from '../rollups/spans.ts'
import { BLOCK_COLUMNS, type BlockRow, blockOf } from '../score-log/blocks/block-rows.ts'
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
   * The applicants of the deployment on the days of the query, as far as they are summed up. Blocks
   * know more, but they hold the applicants of other teams, too, whose number is none of a job's.
   *
   * @returns 0 if the database has not answered in time, or fails: no job may fail for its progress
   */
  applicantsOf(query: ApplicantQuery): Promise<number> {
    const late = setTimeout(COUNT_MS, 0, { ref: false })
    return Promise.race([this.countedApplicants(query), late]).catch(() => 0)
  }

  private async countedApplicants(query: ApplicantQuery): Promise<number> {
    const startMs = Number.isFinite(query.fromMs) ? spanStart('day', query.fromMs) : query.fromMs
    const [row] = await rowsOf<{ applicants: number | null }>(
      this.db,
      sql`select sum(result_count)::float8 as applicants from score_rollups
        where deployment_id = ${query.deploymentId} and span = 'day'
          and starts_at >= ${momentText(startMs)} and starts_at < ${momentText(query.toMs)}`,
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
