import { setTimeout } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { BLOCK_COLUMNS, IS_CURRENT, readBlock } from '../../log/database.ts'
import { type BlockRow, type StoredBlock, spanStart } from '../../log/index.ts'
import { DatabaseStore, momentText, queryRows } from '../../platform/db/client.ts'

/** Below the deadline of a request to the database. */
const COUNT_MS = 5_000

/** The days of a deployment that a job will scan. */
interface ScannedDays {
  readonly deploymentId: string
  readonly fromMs: number
  readonly toMs: number
}

/** The part of PostgreSQL that a replay needs beside the log. */
export class ReplayStore extends DatabaseStore {
  /**
   * The applicants of the deployment on the days of the query, as far as they are summed up. Blocks
   * know more, but they hold the applicants of other teams, too, whose number is none of a job's.
   *
   * @returns 0 if the database has not answered in time, or fails: no job may fail for its progress
   */
  countApplicants(query: ScannedDays): Promise<number> {
    const late = setTimeout(COUNT_MS, 0, { ref: false })
    return Promise.race([this.countedApplicants(query), late]).catch(() => 0)
  }

  private async countedApplicants(query: ScannedDays): Promise<number> {
    const startMs = Number.isFinite(query.fromMs) ? spanStart('day', query.fromMs) : query.fromMs
    const [row] = await queryRows<{ applicants: number | null }>(
      this.db,
      sql`select sum(result_count)::float8 as applicants from score_rollups
        where deployment_id = ${query.deploymentId} and span = 'day'
          and starts_at >= ${momentText(startMs)} and starts_at < ${momentText(query.toMs)}`,
    )
    return row?.applicants ?? 0
  }

  async blocksSince(fromMs: number, blocksMax: number): Promise<readonly StoredBlock[]> {
    const rows = await queryRows<BlockRow>(
      this.db,
      sql`select ${BLOCK_COLUMNS} from score_blocks where (first_at, block_id) in (
          select first_at, block_id from score_blocks
          where first_at >= ${momentText(fromMs)} and ${IS_CURRENT}
          order by random() limit ${blocksMax}
        )`,
    )
    return rows.map(readBlock)
  }
}
