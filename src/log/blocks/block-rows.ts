import { sql } from 'drizzle-orm'
import { epochMs } from '../../platform/db/moments.ts'
import type { ListedBlock } from './block-portions.ts'
import { IS_INDEX_SOUND } from './index-sums.ts'
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
  readonly deployments: readonly number[]
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
  ${epochMs(sql`id_to`)} as id_to_ms, records, applicants, deployments,
  codec, raw_bytes,
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
    deployments: row.deployments,
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
    deployments: [],
    codec: 0,
    raw_bytes: 0,
    checksum,
    is_sound: true,
    data: '',
    sources: Buffer.alloc(0),
  }
}
