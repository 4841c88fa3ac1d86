import { constants, crc32, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { detach } from '../../platform/bytes/detach.ts'
import type { BlockData, Codec } from './stored-block.ts'

const BYTES_MIN = 256
const VARINT_BITS = 7
const MORE = 0x80

/** Writes numbers and bytes one after the other, little-endian, into a buffer that grows. */
export class ByteWriter {
  private bytes = Buffer.allocUnsafe(BYTES_MIN)
  private used = 0

  get length(): number {
    return this.used
  }

  u8(value: number): void {
    this.reserve(1)
    this.bytes[this.used++] = value
  }

  u16(value: number): void {
    this.reserve(2)
    this.used = this.bytes.writeUInt16LE(value, this.used)
  }

  u32(value: number): void {
    this.reserve(4)
    this.used = this.bytes.writeUInt32LE(value, this.used)
  }

  f64(value: number): void {
    this.reserve(8)
    this.used = this.bytes.writeDoubleLE(value, this.used)
  }

  /** @param value a whole number from 0 to 2^53 - 1 */
  varint(value: number): void {
    this.reserve(8)
    let rest = value
    while (rest >= MORE) {
      this.bytes[this.used++] = (rest % MORE) | MORE
      rest = rest < 2 ** 31 ? rest >>> VARINT_BITS : Math.floor(rest / MORE)
    }
    this.bytes[this.used++] = rest
  }

  /** @param value a whole number from -2^52 to 2^52: small ones of either sign take one byte */
  zigzag(value: number): void {
    this.varint(value < 0 ? -2 * value - 1 : 2 * value)
  }

  /** Copies bytes, with their number before them. */
  block(bytes: Uint8Array): void {
    this.varint(bytes.length)
    this.copy(bytes, 0, bytes.length)
  }

  copy(bytes: Uint8Array, start: number, end: number): void {
    this.reserve(end - start)
    if (end - start > COPIED_BY_LOOP_MAX) this.bytes.set(bytes.subarray(start, end), this.used)
    else for (let at = start; at < end; at++) this.bytes[this.used + at - start] = bytes[at] ?? 0
    this.used += end - start
  }

  /** Room for bytes that the caller fills at once. */
  room(length: number): Buffer {
    this.reserve(length)
    const start = this.used
    this.used += length
    return this.bytes.subarray(start, this.used)
  }

  /** Returns the written bytes; valid until the next write. */
  written(): Buffer {
    return this.bytes.subarray(0, this.used)
  }

  private reserve(length: number): void {
    const wanted = this.used + length
    if (wanted <= this.bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(wanted, 2 * this.bytes.length))
    this.bytes.copy(larger, 0, 0, this.used)
    this.bytes = larger
  }
}

const CHECKSUM_BYTES = 4

/**
 * The bytes before a CRC-32, which is written at their end with `u32`.
 *
 * @throws RangeError if they are not those that it was made of
 */
export function checkedBytes(bytes: Buffer): Buffer {
  const end = bytes.length - CHECKSUM_BYTES
  if (end < 0 || crc32(bytes.subarray(0, end)) !== bytes.readUInt32LE(end)) {
    throw new RangeError('the bytes are damaged')
  }
  return bytes.subarray(0, end)
}

/** A call costs more than a loop over so few bytes. */
const COPIED_BY_LOOP_MAX = 32
const CUT_OFF = 'the block is cut off'

/** Reads what `ByteWriter` has written. Throws `RangeError` at the end of the bytes. */
export class ByteReader {
  readonly bytes: Buffer
  private at: number

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes
    this.at = at
  }

  get position(): number {
    return this.at
  }

  u8(): number {
    return this.bytes.readUInt8(this.step(1))
  }

  u16(): number {
    return this.bytes.readUInt16LE(this.step(2))
  }

  u32(): number {
    return this.bytes.readUInt32LE(this.step(4))
  }

  f64(): number {
    return this.bytes.readDoubleLE(this.step(8))
  }

  varint(): number {
    let value = 0
    for (let factor = 1; ; factor *= MORE) {
      const byte = this.u8()
      value += (byte & (MORE - 1)) * factor
      if (byte < MORE) break
    }
    if (!Number.isSafeInteger(value)) throw new RangeError('a number of the block is too large')
    return value
  }

  zigzag(): number {
    const value = this.varint()
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2
  }

  /** As `zigzag` for each item of an array, which is faster. */
  zigzags(target: Float64Array): void {
    const { bytes } = this
    for (let index = 0; index < target.length; index++) {
      const low = bytes[this.at] ?? MORE
      const high = bytes[this.at + 1] ?? MORE
      // Nearly all numbers take one byte or two.
      if (low >= MORE && high >= MORE) target[index] = this.zigzag()
      else {
        const value = low < MORE ? low : (low & (MORE - 1)) + MORE * high
        this.at += low < MORE ? 1 : 2
        target[index] = (value & 1) === 0 ? value / 2 : -(value + 1) / 2
      }
    }
  }

  /** Passes over as many numbers of `varint` or `zigzag`. */
  skipVarints(count: number): void {
    const { bytes } = this
    let { at } = this
    for (let rest = count; rest > 0; at++) {
      if (at >= bytes.length) throw new RangeError(CUT_OFF)
      if ((bytes[at] ?? MORE) < MORE) rest--
    }
    this.at = at
  }

  block(): Buffer {
    return this.take(this.varint())
  }

  skipBlock(): void {
    this.step(this.varint())
  }

  skip(length: number): void {
    this.step(length)
  }

  take(length: number): Buffer {
    const start = this.step(length)
    return this.bytes.subarray(start, start + length)
  }

  private step(length: number): number {
    const start = this.at
    if (start + length > this.bytes.length) throw new RangeError(CUT_OFF)
    this.at = start + length
    return start
  }
}

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
