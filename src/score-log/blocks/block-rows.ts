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
  readonly data: Uint8Array
  readonly sources: Uint8Array | null
}

const ALL_BUT_SOURCES = sql`block_id::text as block_id, ${epochMs(sql`first_at`)} as first_at_ms,
  ${epochMs(sql`last_at`)} as last_at_ms, ${epochMs(sql`id_from`)} as id_from_ms,
  ${epochMs(sql`id_to`)} as id_to_ms, records, applicants, codec, raw_bytes,
  checksum::float8 as checksum, data`

export const BLOCK_COLUMNS = sql`${ALL_BUT_SOURCES}, sources`

/** The same without the sources. */
export const BLOCK_COLUMNS_BARE = sql`${ALL_BUT_SOURCES}, null::bytea as sources`

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
    data: bufferOf(row.data),
    sources: row.sources === null ? null : bufferOf(row.sources),
  }
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}
