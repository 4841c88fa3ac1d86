import { crc32 } from 'node:zlib'

/**
 * A segment is a sequence of frames: magic, length of the payload, its CRC-32, payload. Numbers are
 * unsigned, 32 bits, little-endian. The first byte of the magic never occurs in UTF-8 text, so that
 * the next frame after damage can be found.
 */
export const FRAME_HEADER_BYTES = 12
/** Largest record. Databases and memory can't take a text of any size. */
export const PAYLOAD_BYTES_MAX = 32 * 1024 * 1024
const MAGIC = Buffer.from([0xff, 0x53, 0x43, 0x31])
const MAGIC_NUMBER = MAGIC.readUInt32LE()
const LENGTH_AT = 4
const CHECKSUM_AT = 8

/** Writes the header of a frame, in the room before its payload. */
export function sealFrame(bytes: Buffer, start: number, end: number): void {
  const payload = start + FRAME_HEADER_BYTES
  bytes.writeUInt32LE(MAGIC_NUMBER, start)
  bytes.writeUInt32LE(end - payload, start + LENGTH_AT)
  bytes.writeUInt32LE(crc32(bytes.subarray(payload, end)), start + CHECKSUM_AT)
}

export function readFrameChecksum(bytes: Buffer): number {
  return bytes.readUInt32LE(CHECKSUM_AT)
}

/** Part of a segment; includes `start` and excludes `end`. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

interface Scan {
  /** Payloads of whole frames. */
  readonly payloads: readonly ByteRange[]
  /** Ranges without a valid frame, up to the next frame or the end of the segment. */
  readonly damaged: readonly ByteRange[]
  /** End of the scanned part. */
  readonly end: number
  /** Bytes from `end` that the next read must contain; 0 at the end of the segment. */
  readonly wantedBytes: number
  /** Length of an unread frame at `end` that is larger than a record can be; else 0. */
  readonly oversizedBytes: number
  /** Start of an incomplete frame at the end of the segment, as after a cut write; else null. */
  readonly tornAt: number | null
}

/**
 * Finds the frames in a part of a segment.
 *
 * @param bytes the part; starts with a frame unless it is damaged
 * @param restBytes bytes from the start of the part to the end of the segment
 * @param payloadsMax number of payloads after which the scan ends
 */
export function scanFrames(bytes: Buffer, restBytes: number, payloadsMax = Infinity): Scan {
  const payloads: ByteRange[] = []
  const damaged: ByteRange[] = []
  let at = 0
  while (at < restBytes && payloads.length < payloadsMax) {
    const frame = readFrameAt(bytes, at, restBytes)
    if (frame.kind === 'whole') {
      payloads.push({ start: at + FRAME_HEADER_BYTES, end: frame.end })
      at = frame.end
      continue
    }
    if (frame.kind === 'beyond') {
      return { ...NOTHING_MORE, payloads, damaged, end: at, wantedBytes: frame.bytes }
    }
    if (frame.kind === 'oversized') {
      return { ...NOTHING_MORE, payloads, damaged, end: at, oversizedBytes: frame.bytes }
    }
    // Only the rest of the segment shows whether the frame is torn: read it first.
    if (frame.kind === 'torn' && at > 0 && bytes.length < restBytes) {
      return { ...NOTHING_MORE, payloads, damaged, end: at, wantedBytes: FRAME_HEADER_BYTES }
    }
    const next = findNextFrame(bytes, at, restBytes)
    if (next === restBytes && frame.kind === 'torn') {
      return { ...NOTHING_MORE, payloads, damaged, end: restBytes, tornAt: at }
    }
    damaged.push({ start: at, end: next })
    at = next
  }
  const wantedBytes = at < restBytes ? FRAME_HEADER_BYTES : 0
  return { ...NOTHING_MORE, payloads, damaged, end: at, wantedBytes }
}

const NOTHING_MORE = { wantedBytes: 0, oversizedBytes: 0, tornAt: null }

/**
 * *whole*: a valid frame; *none*: not a frame; *torn*: longer than the rest of the segment;
 * *beyond*: ends in bytes that are not read yet; *oversized*: the same, but too large to be read.
 */
type Frame =
  | { readonly kind: 'whole'; readonly end: number }
  | { readonly kind: 'none' | 'torn' }
  | { readonly kind: 'beyond' | 'oversized'; readonly bytes: number }

const NONE: Frame = { kind: 'none' }
const TORN: Frame = { kind: 'torn' }

function readFrameAt(bytes: Buffer, at: number, restBytes: number): Frame {
  const rest = restBytes - at
  if (rest < FRAME_HEADER_BYTES) return startsLikeFrame(bytes, at) ? TORN : NONE
  if (bytes.length - at < FRAME_HEADER_BYTES) return { kind: 'beyond', bytes: FRAME_HEADER_BYTES }
  if (bytes.readUInt32LE(at) !== MAGIC_NUMBER) return NONE
  const frameBytes = FRAME_HEADER_BYTES + bytes.readUInt32LE(at + LENGTH_AT)
  if (frameBytes > rest) return TORN
  if (frameBytes > FRAME_HEADER_BYTES + PAYLOAD_BYTES_MAX) {
    return { kind: 'oversized', bytes: frameBytes }
  }
  const end = at + frameBytes
  if (end > bytes.length) return { kind: 'beyond', bytes: frameBytes }
  const payload = bytes.subarray(at + FRAME_HEADER_BYTES, end)
  return crc32(payload) === bytes.readUInt32LE(at + CHECKSUM_AT) ? { kind: 'whole', end } : NONE
}

/** Judges a rest that is shorter than a header. */
function startsLikeFrame(bytes: Buffer, at: number): boolean {
  const start = bytes.subarray(at, at + MAGIC.length)
  return start.equals(MAGIC.subarray(0, start.length))
}

/** Next offset after `at` where a frame is or may begin; the end of the part if there is none. */
function findNextFrame(bytes: Buffer, at: number, restBytes: number): number {
  let from = at + 1
  for (;;) {
    const found = bytes.indexOf(MAGIC, from)
    if (found < 0) break
    const { kind } = readFrameAt(bytes, found, restBytes)
    if (kind === 'whole' || kind === 'beyond' || kind === 'oversized') return found
    from = found + 1
  }
  if (bytes.length >= restBytes) return restBytes
  // The last bytes can be the start of a magic.
  return Math.max(at + 1, bytes.length - MAGIC.length + 1)
}
