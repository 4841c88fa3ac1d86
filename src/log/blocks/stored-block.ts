import type { BlockTable } from './index-sums.ts'

/** The way the payload of a block is compressed. */
export const CODECS = ['raw', 'zstd'] as const
export type Codec = (typeof CODECS)[number]

/** The columns of a payload and their compressed bytes. */
export interface BlockData {
  readonly codec: Codec
  readonly rawBytes: number
  /** CRC-32 of the raw payload. */
  readonly checksum: number
  readonly data: Buffer
}

export interface StoredBlock extends BlockData {
  /** Unique with `firstAtMs`. */
  readonly blockId: string
  /** When the oldest and the newest request were scored. */
  readonly firstAtMs: number
  readonly lastAtMs: number
  /** Least and greatest time in the request ids. */
  readonly idFromMs: number
  readonly idToMs: number
  /** Number of requests. */
  readonly records: number
  readonly applicants: number
  readonly deploymentCount: number
  /** See `readSources`; empty where its reader has asked for none. */
  readonly sources: Buffer
  /** Present where the columns by which statements choose it are damaged: see `indexSum`. */
  readonly damagedIndexIn?: BlockTable
  /** The file of the archive that holds it; absent for a block in the database. */
  readonly archivedIn?: string
}

/** Names the bytes of a block: an erasure changes a block in place, and its checksum with it. */
export function cacheName({
  blockId,
  firstAtMs,
  checksum,
}: Pick<StoredBlock, 'blockId' | 'firstAtMs' | 'checksum'>): string {
  return `${firstAtMs} ${blockId} ${checksum}`
}
