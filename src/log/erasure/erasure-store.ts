import { sql } from 'drizzle-orm'
import { AppError } from '../../errors.ts'
import { DatabaseStore, queryRows } from '../../platform/db/client.ts'
import type { EncodedBlock } from '../blocks/block-encoder.ts'
import { IS_INDEX_SOUND, indexSum, setFilter } from '../blocks/index-sums.ts'
import { CODECS, type StoredBlock } from '../blocks/stored-block.ts'
import { SPAN_MS } from '../rollups/spans.ts'
import { hashOfReference } from './erasure-list.ts'

export interface Erasure {
  readonly teamId: string
  readonly reference: string
  /** Requests that were scored until then lose the reference. */
  readonly untilMs: number
}

/**
 * Time for which an erasure is listed: a spool that was not drained for longer must not be drained.
 */
const LISTED_MS = 90 * SPAN_MS.day
/** Listed erasures of a team: a process keeps them in memory. */
const LISTED_MAX = 50_000

export class ErasureStore extends DatabaseStore {
  /**
   * Lists the erasure for all drains. When it returns, no drain can store the reference any more,
   * and what drains stored before can be read.
   *
   * @throws AppError `unavailable` if the list is full
   */
  async list({ teamId, reference, untilMs }: Erasure): Promise<void> {
    const hash = hashOfReference(teamId, reference)
    await this.db.transaction(async (tx) => {
      // Waits for the drains that are under way, and makes others wait: each moves a cursor, and
      // then reads the number of the newest erasure. It also orders the numbers of erasures.
      await tx.execute(sql`lock table spool_cursors in share row exclusive mode`)
      await tx.execute(sql`delete from log_erasures
        where covers_until < ${toMoment(untilMs - LISTED_MS)}`)
      const listed = await queryRows(
        tx,
        sql`insert into log_erasures (team_id, reference_hash, covers_until)
          select ${teamId}, ${hash}, ${toMoment(untilMs)}::timestamptz
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

  /**
   * Replaces in place: a roll-up of the block stays what it is, and a merge sees the other
   * checksum.
   *
   * @returns false if the block has gone or was changed meanwhile
   */
  async replaceBlock(block: StoredBlock, encoded: EncodedBlock): Promise<boolean> {
    return this.db.transaction(async (tx) => {
      const key = sql`first_at = ${toMoment(block.firstAtMs)}
        and block_id = ${block.blockId}::bigint`
      const replaced = await queryRows(
        tx,
        sql`update score_blocks set ${setFilter(encoded)},
            codec = ${CODECS.indexOf(encoded.codec)}, raw_bytes = ${encoded.rawBytes},
            checksum = ${encoded.checksum}, data = ${encoded.data}, counts = ${encoded.counts}
          where ${key} and checksum = ${block.checksum} and ${IS_INDEX_SOUND.score_blocks}
          returning 1`,
      )
      if (replaced.length === 0) return false
      await tx.execute(sql`update score_blocks set index_sum = ${indexSum()} where ${key}`)
      return true
    })
  }
}

function toMoment(epochMs: number): string {
  return new Date(epochMs).toISOString()
}
