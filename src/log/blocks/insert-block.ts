import { randomInt } from 'node:crypto'
import { type SQL, sql } from 'drizzle-orm'
import { momentText } from '../../platform/db/moments.ts'
import type { EncodedBlock } from './block-encoder.ts'
import { filterSum, indexSum } from './index-sums.ts'
import { CODECS } from './stored-block.ts'

const BLOCK_ID_MAX = 2 ** 48 - 1

interface InsertOptions {
  /** True if its requests are counted already; else its sums wait in `score_sums`. */
  readonly isSummed: boolean
  /** See `readSources`. */
  readonly sources: Buffer
}

/** Inserts a block. Two blocks of one millisecond have the same id once in a hundred years. */
export function makeInsert(block: EncodedBlock, { isSummed, sources }: InsertOptions): SQL {
  const { firstAtMs, lastAtMs, idFromMs, idToMs, records, applicants, deployments } = block
  const [first, id] = [momentText(Math.floor(firstAtMs)), randomInt(BLOCK_ID_MAX)]
  const hashes = `{${deployments}}`
  const counted = sql`insert into score_sums (first_at, block_id, deployments, sums)
    values (${first}, ${id}, ${hashes}::integer[], ${block.sums})`
  return sql`${isSummed ? sql`` : sql`with counted as (${counted})`} insert into score_blocks (first_at, last_at, id_from, id_to, block_id, records,
      applicants, deployments, superseded_at, reference_filter, filter_sum, index_sum, codec, raw_bytes, checksum, data, sources, drained_at, counts)
    select first_at, last_at, id_from, id_to, block_id, records, applicants, deployments, null,
      reference_filter, filter_sum, ${indexSum(sql`false`)}, ${CODECS.indexOf(block.codec)}::smallint,
      ${block.rawBytes}::integer, ${block.checksum}::bigint, ${block.data}::bytea,
      ${sources}::bytea, now(), ${block.counts}::bytea
    from (select *, ${filterSum()} as filter_sum from (select
      ${first}::timestamptz as first_at, ${momentText(Math.ceil(lastAtMs))}::timestamptz as last_at,
      ${momentText(Math.floor(idFromMs))}::timestamptz as id_from,
      ${momentText(Math.ceil(idToMs))}::timestamptz as id_to, ${id}::bigint as block_id,
      ${records}::integer as records, ${applicants}::integer as applicants,
      ${hashes}::integer[] as deployments, ${block.referenceFilter}::bytea as reference_filter
    ) as given) as summed`
}
