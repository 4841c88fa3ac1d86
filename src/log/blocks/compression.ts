import { constants, crc32, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { detach } from '../../platform/bytes/detach.ts'
import type { BlockData, Codec } from './stored-block.ts'

/** Higher levels take longer than they save, see `bench/scenarios/blocks.ts`. */
const LEVEL = 1
/** Less is not worth the work. */
const COMPRESSED_BYTES_MIN = 64
const LENGTH_BYTES = 4
/** A buffer that is full asks for another one; Node takes no less than this. */
const CHUNK_ROOM = 64
/** A block beyond this is not one that this service wrote. */
const RAW_BYTES_MAX = 256 * 1024 * 1024

/**
 * Packs a payload: the length of its compressed part, that part, then its random part as it is.
 * Random bytes would make the codes of all others longer.
 */
export function packed(columns: Buffer, random: Buffer): BlockData {
  const codec: Codec = columns.length < COMPRESSED_BYTES_MIN ? 'raw' : 'zstd'
  const part =
    codec === 'raw'
      ? columns
      : zstdCompressSync(columns, {
          params: {
            [constants.ZSTD_c_compressionLevel]: LEVEL,
            [constants.ZSTD_c_contentSizeFlag]: 1,
          },
          pledgedSrcSize: columns.length,
        })
  const length = Buffer.allocUnsafe(LENGTH_BYTES)
  length.writeUInt32LE(part.length)
  return {
    codec,
    rawBytes: columns.length + random.length,
    checksum: crc32(random, crc32(columns)),
    data: Buffer.concat([length, part, random]),
  }
}

/** @throws RangeError if the data are not those that were packed */
export function unpacked({ codec, rawBytes, checksum, data }: BlockData): {
  readonly columns: Buffer
  readonly random: Buffer
} {
  const end = data.length < LENGTH_BYTES ? Infinity : LENGTH_BYTES + data.readUInt32LE()
  if (end > data.length || rawBytes > RAW_BYTES_MAX) throw new RangeError('the block is cut off')
  const part = data.subarray(LENGTH_BYTES, end)
  const random = data.subarray(end)
  const maxOutputLength = Math.max(1, rawBytes - random.length)
  const columns = codec === 'raw' ? part : decompressed(part, maxOutputLength)
  if (
    columns.length + random.length !== rawBytes ||
    crc32(random, crc32(columns)) !== Number(checksum)
  ) {
    throw new RangeError('the block is damaged')
  }
  return { columns, random }
}

function decompressed(part: Buffer, maxOutputLength: number): Buffer {
  try {
    // All at once: else the output comes in hundreds of small buffers, which are then joined.
    const bytes = zstdDecompressSync(part, {
      maxOutputLength,
      chunkSize: maxOutputLength + CHUNK_ROOM,
    })
    return bytes.length < Buffer.poolSize ? detach(bytes) : bytes
  } catch (cause) {
    throw new RangeError('the block is damaged', { cause })
  }
}
