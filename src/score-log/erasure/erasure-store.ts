import { sql } from 'drizzle-orm'
import { AppError } from '../../errors.ts'
import { type Database, rowsOf } from '../../platform/db/client.ts'
import { SPAN_MS } from '../../rollups/spans.ts'
import type { EncodedBlock } from '../blocks/block-encoder.ts'
import { CODECS, type StoredBlock } from '../blocks/stored-block.ts'
import type { FirstFormRow } from '../reading/first-form.ts'
import type { Erasure, ErasureStore } from './eraser.ts'
import { hashOfReference } from './reference-hash.ts'

/** How long an erasure is listed: a spool that was not drained for longer must not be drained. */
const LISTED_MS = 90 * SPAN_MS.day
/** Listed erasures of a team: a process keeps them in memory. */
const LISTED_MAX = 50_000

/** Erasures in PostgreSQL. */
export class PostgresErasureStore implements ErasureStore {
  private readonly db: Database

  constructor(db: Database) {
    this.db = db
  }

  async list({ teamId, reference, untilMs }: Erasure): Promise<void> {
    const hash = hashOfReference(teamId, reference)
    await this.db.transaction(async (tx) => {
      // Waits for the drains that are under way, and makes others wait: each moves a cursor, and
      // then reads the number of the newest erasure. It also orders the numbers of erasures.
      await tx.execute(sql`lock table spool_cursors in share row exclusive mode`)
      await tx.execute(sql`delete from log_erasures
        where covers_until < ${momentOf(untilMs - LISTED_MS)}`)
      const listed = await rowsOf(
        tx,
        sql`insert into log_erasures (team_id, reference_hash, covers_until)
          select ${teamId}, ${hash}, ${momentOf(untilMs)}::timestamptz
          where (select count(*) from log_erasures where team_id = ${teamId}) < ${LISTED_MAX}
          on conflict (team_id, reference_hash) do update
            set number = excluded.number, covers_until = excluded.covers_until
          returning 1`,
      )
      if (listed.length > 0) return
      const text = `a team can erase ${LISTED_MAX} references in 90 days, and has done so`
      throw new AppError('unavailable', text)
    })
  }

  /** In place: a roll-up of the block stays what it is, and a merge sees the other checksum. */
  async replaceBlock(block: StoredBlock, encoded: EncodedBlock): Promise<boolean> {
    const replaced = await rowsOf(
      this.db,
      sql`update score_blocks set reference_filter = ${encoded.referenceFilter},
          codec = ${CODECS.indexOf(encoded.codec)}, raw_bytes = ${encoded.rawBytes},
          checksum = ${encoded.checksum}, data = ${encoded.data}
        where first_at = ${momentOf(block.firstAtMs)} and block_id = ${block.blockId}::bigint
          and checksum = ${block.checksum}
        returning 1`,
    )
    return replaced.length > 0
  }

  async replaceRow({ request_id, scored_at_ms }: FirstFormRow, results: string): Promise<void> {
    await this.db.execute(sql`update score_log set results = ${results}::json
      where request_id = ${request_id} and scored_at >= ${momentOf(Math.floor(scored_at_ms))}
        and scored_at < ${momentOf(Math.floor(scored_at_ms) + 1)}`)
  }
}

function momentOf(epochMs: number): string {
  return new Date(epochMs).toISOString()
}
