import { crc32 } from 'node:zlib'
import type { ReadBytes } from './input/record.ts'

/** Bytes of a file that was sent which have one checksum. */
export const SUMMED_BYTES = 1024 * 1024

/** Computes the checksum of bytes, as PostgreSQL takes it, from that of those before. */
export function checksumAfter(bytes: Uint8Array, before = 0): number {
  return crc32(bytes, before >>> 0) | 0
}

interface SummedFile {
  readonly fileBytes: number
  /** Checksums of each `SUMMED_BYTES` in turn. */
  readonly sums: readonly number[]
  /** Makes the error for a portion that is not what was received. */
  readonly damaged: (from: number) => Error
}

/**
 * Reads a file in whole portions, and gives no byte of one before it is checked. The last portion
 * stays in memory, so that who reads on reads each byte of the file once.
 */
export function checkedReads(read: ReadBytes, { fileBytes, sums, damaged }: SummedFile): ReadBytes {
  let held: { readonly from: number; readonly bytes: Buffer } | null = null
  const portionAt = async (from: number) => {
    if (held?.from === from) return held.bytes
    const bytes = await read(from, Math.min(SUMMED_BYTES, fileBytes - from))
    if (checksumAfter(bytes) !== sums[from / SUMMED_BYTES]) throw damaged(from)
    held = { from, bytes }
    return bytes
  }
  return async (from, bytes) => {
    const end = from + bytes
    if (from < 0 || end > fileBytes) throw new RangeError('a read is outside of the file')
    const found: Buffer[] = []
    for (let at = from; at < end; at += found.at(-1)?.length ?? 0) {
      const start = at - (at % SUMMED_BYTES)
      found.push((await portionAt(start)).subarray(at - start, end - start))
    }
    return Buffer.concat(found)
  }
}
