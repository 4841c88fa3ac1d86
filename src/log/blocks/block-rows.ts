import { randomInt } from 'node:crypto'
import { type SQL, sql } from 'drizzle-orm'
import { epochMs, momentText } from '../../platform/db/client.ts'
import type { EncodedBlock } from './block-encoder.ts'
import { type DamagedBlock, damagedColumns } from './damaged-block.ts'
import { filterSum, IS_INDEX_SOUND, indexSum } from './index-sums.ts'
import { CODECS, type StoredBlock } from './stored-block.ts'

/** The columns that a block has in the database and in the archive, as both drivers give them. */
export interface BlockFactsRow {
  readonly block_id: string
  readonly first_at_ms: number
  readonly last_at_ms: number
  readonly id_from_ms: number
  readonly id_to_ms: number
  readonly records: number
  readonly applicants: number
  readonly deployment_count: number
  readonly codec: number
  readonly raw_bytes: number
  readonly checksum: number
  readonly is_sound: boolean
}

export interface BlockRow extends BlockFactsRow {
  /** A text is base64. */
  readonly data: Uint8Array | string
  readonly sources: Uint8Array
}

/** The columns of `BlockFactsRow`. */
export const listFacts = (table: keyof typeof IS_INDEX_SOUND) =>
  sql`block_id::text as block_id, ${epochMs(sql`first_at`)} as first_at_ms,
  ${epochMs(sql`last_at`)} as last_at_ms, ${epochMs(sql`id_from`)} as id_from_ms,
  ${epochMs(sql`id_to`)} as id_to_ms, records, applicants,
  cardinality(deployments) as deployment_count, codec, raw_bytes,
  checksum::float8 as checksum, ${IS_INDEX_SOUND[table]} as is_sound`

const FACTS = listFacts('score_blocks')
export const BLOCK_COLUMNS = sql`${FACTS}, data, sources`

/**
 * The same for those who read many blocks: without the sources, and with the data as base64. Both
 * drivers take bytes as hexadecimal text, which is half as long again and takes twice as long to
 * read.
 */
export const BLOCK_COLUMNS_BARE = sql`${FACTS}, encode(data, 'base64') as data,
  ''::bytea as sources`

export function readBlock(row: BlockRow): StoredBlock {
  return {
    ...readFacts(row, 'score_blocks'),
    data: typeof row.data === 'string' ? Buffer.from(row.data, 'base64') : toBuffer(row.data),
    sources: toBuffer(row.sources),
  }
}

export function readFacts(row: BlockFactsRow, table: keyof typeof IS_INDEX_SOUND) {
  return {
    blockId: row.block_id,
    firstAtMs: row.first_at_ms,
    lastAtMs: row.last_at_ms,
    idFromMs: row.id_from_ms,
    idToMs: row.id_to_ms,
    records: row.records,
    applicants: row.applicants,
    deploymentCount: row.deployment_count,
    codec: CODECS[row.codec] ?? 'raw',
    rawBytes: row.raw_bytes,
    checksum: row.checksum,
    ...(!row.is_sound && { damagedIndexIn: table }),
  }
}

function toBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

/** A row whose block can't be opened, and can hold any request. */
export function unreadableRow({ block_id, first_at_ms, checksum }: ListedBlock): BlockRow {
  return {
    block_id,
    first_at_ms,
    last_at_ms: Number.POSITIVE_INFINITY,
    id_from_ms: Number.NEGATIVE_INFINITY,
    id_to_ms: Number.POSITIVE_INFINITY,
    records: 0,
    applicants: 0,
    deployment_count: 0,
    codec: 0,
    raw_bytes: 0,
    checksum,
    is_sound: true,
    data: '',
    sources: Buffer.alloc(0),
  }
}

/** A block of an hour, before its data are read. */
export interface ListedBlock {
  readonly block_id: string
  readonly first_at_ms: number
  readonly bytes: number
  readonly checksum: number
  readonly is_archived: boolean
  /** True if the filter by which it was chosen is the one that was written. */
  readonly is_filter_sound: boolean
}

/** Bytes of data in one statement; a single block can be larger. */
const PORTION_BYTES = 4 * 1024 * 1024
/** Blocks in the first statement of an hour, and at most: many readers want only a few. */
const PORTION_BLOCKS_MIN = 4
const PORTION_BLOCKS_MAX = 512

/** Splits blocks into those that one statement reads. */
export function* listPortions(listed: readonly ListedBlock[]): Generator<ListedBlock[]> {
  let portion: ListedBlock[] = []
  let bytes = 0
  let blocksMax = PORTION_BLOCKS_MIN
  for (const block of listed) {
    if (portion.length > 0 && bytes + block.bytes > PORTION_BYTES) {
      yield portion
      portion = []
      bytes = 0
    }
    portion.push(block)
    bytes += block.bytes
    if (portion.length >= blocksMax) {
      yield portion
      blocksMax = Math.min(PORTION_BLOCKS_MAX, 2 * blocksMax)
      portion = []
      bytes = 0
    }
  }
  if (portion.length > 0) yield portion
}

/** The error of a block whose filter is not the one that was written. */
export function filterFault({
  block_id: blockId,
  first_at_ms,
  is_archived,
}: ListedBlock): DamagedBlock {
  const table = is_archived ? 'score_archive_blocks' : 'score_blocks'
  return damagedColumns({ blockId, firstAtMs: first_at_ms }, 'filter', table)
}

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
  return sql`${isSummed ? sql`` : sql`with counted as (${counted})`}
    insert into score_blocks (first_at, last_at, id_from, id_to, block_id, records, applicants,
      deployments, superseded_at, reference_filter, filter_sum, index_sum, codec, raw_bytes,
      checksum, data, sources, drained_at, counts)
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
