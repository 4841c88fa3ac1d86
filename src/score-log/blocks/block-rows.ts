import { sql } from 'drizzle-orm'
import { epochMs } from '../../rollups/rollup-rows.ts'
import { CODECS, type StoredBlock } from './stored-block.ts'

/** A row as both drivers give it. */
export interface BlockRow {
  readonly block_id: string
  readonly first_at_ms: number
  readonly last_at_ms: number
  readonly id_from_ms: number
  readonly id_to_ms: number
  readonly records: number
  readonly applicants: number
  readonly codec: number
  readonly raw_bytes: number
  readonly checksum: number
  /** A text is base64. */
  readonly data: Uint8Array | string
  readonly sources: Uint8Array | null
}

const FACTS = sql`block_id::text as block_id, ${epochMs(sql`first_at`)} as first_at_ms,
  ${epochMs(sql`last_at`)} as last_at_ms, ${epochMs(sql`id_from`)} as id_from_ms,
  ${epochMs(sql`id_to`)} as id_to_ms, records, applicants, codec, raw_bytes,
  checksum::float8 as checksum`

export const BLOCK_COLUMNS = sql`${FACTS}, data, sources`

/**
 * The same for those who read many blocks: without the sources, and with the data as base64. Both
 * drivers take bytes as hexadecimal text, which is half as long again and takes twice as long to
 * read.
 */
export const BLOCK_COLUMNS_BARE = sql`${FACTS}, encode(data, 'base64') as data,
  null::bytea as sources`

export function blockOf(row: BlockRow): StoredBlock {
  return {
    blockId: row.block_id,
    firstAtMs: row.first_at_ms,
    lastAtMs: row.last_at_ms,
    idFromMs: row.id_from_ms,
    idToMs: row.id_to_ms,
    records: row.records,
    applicants: row.applicants,
    codec: CODECS[row.codec] ?? 'raw',
    rawBytes: row.raw_bytes,
    checksum: row.checksum,
    data: typeof row.data === 'string' ? Buffer.from(row.data, 'base64') : bufferOf(row.data),
    sources: row.sources === null ? null : bufferOf(row.sources),
  }
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}
