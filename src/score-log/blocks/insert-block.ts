import { randomInt } from 'node:crypto'
import { type SQL, sql } from 'drizzle-orm'
import { momentText } from '../../rollups/rollup-rows.ts'
import type { EncodedBlock } from './block-encoder.ts'
import { CODECS } from './stored-block.ts'

const BLOCK_ID_MAX = 2 ** 48 - 1

interface InsertOptions {
  /** Whether its requests are counted already; else its sums wait in `score_sums`. */
  readonly isSummed: boolean
  /** See `readSources`; null where the tree does not hold its records. */
  readonly sources: Buffer | null
}

/** Inserts a block. Two blocks of one millisecond have the same id once in a hundred years. */
export function insertOf(block: EncodedBlock, { isSummed, sources }: InsertOptions): SQL {
  const { firstAtMs, lastAtMs, idFromMs, idToMs, records, applicants, deployments } = block
  const [first, id] = [momentText(Math.floor(firstAtMs)), randomInt(BLOCK_ID_MAX)]
  const hashes = `{${deployments}}`
  const counted = sql`insert into score_sums (first_at, block_id, deployments, sums)
    values (${first}, ${id}, ${hashes}::integer[], ${block.sums})`
  return sql`${isSummed ? sql`` : sql`with counted as (${counted})`} insert into score_blocks (first_at, last_at, id_from, id_to, block_id, records,
      applicants, deployments, sums, is_summed, superseded_at, reference_filter, codec, raw_bytes,
      checksum, data, sources)
    values (${first}, ${momentText(Math.ceil(lastAtMs))}, ${momentText(Math.floor(idFromMs))},
      ${momentText(Math.ceil(idToMs))}, ${id}, ${records}, ${applicants}, ${hashes}::integer[],
      ''::bytea, true, null,
      ${block.referenceFilter}, ${CODECS.indexOf(block.codec)}, ${block.rawBytes},
      ${block.checksum}, ${block.data}, ${sources})`
}
