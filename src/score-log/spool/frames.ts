import { crc32 } from 'node:zlib'

/**
 * A segment is a row of frames: magic, length of the payload, its CRC-32, payload; numbers are unsigned, 32
 * bits, little-endian. The first byte of the magic stands in no UTF-8 text, so that behind damage the next
 * frame can be found.
 */
export const FRAME_HEADER_BYTES = 12
const MAGIC = Buffer.from([0xff, 0x53, 0x43, 0x31])
const MAGIC_NUMBER = MAGIC.readUInt32LE()
const LENGTH_AT = 4
const CHECKSUM_AT = 8

/** Writes the header of a frame whose payload already stands behind the place for it. */
export function sealFrame(bytes: Buffer, start: number, end: number): void {
  const payload = start + FRAME_HEADER_BYTES
  bytes.writeUInt32LE(MAGIC_NUMBER, start)
  bytes.writeUInt32LE(end - payload, start + LENGTH_AT)
  bytes.writeUInt32LE(crc32(bytes.subarray(payload, end)), start + CHECKSUM_AT)
}

/** Part of a stretch of a segment; `start` counts, `end` does not. */
export interface Stretch {
  readonly start: number
  readonly end: number
}

export interface Scan {
  /** Payloads of whole frames. */
  readonly payloads: readonly Stretch[]
  /** What is no frame, with a frame, or the end of the segment, behind it. */
  readonly damaged: readonly Stretch[]
  /** Up to where the stretch is understood. */
  readonly end: number
  /** Bytes from `end` on that must be read together to go on; 0 at the end of the segment. */
  readonly wantedBytes: number
  /** The segment ends amid a frame, as after a write that was cut off: where it began, else null. */
  readonly tornAt: number | null
}

/**
 * Finds the frames in a stretch of a segment.
 *
 * @param bytes begins with a frame unless there is damage
 * @param restBytes from the beginning of the stretch to the end of the segment
 * @param payloadsMax ends the scan
 */
export function scanFrames(bytes: Buffer, restBytes: number, payloadsMax = Infinity): Scan {
  const payloads: Stretch[] = []
  const damaged: Stretch[] = []
  let at = 0
  while (at < restBytes && payloads.length < payloadsMax) {
    const frame = frameAt(bytes, at, restBytes)
    if (frame.kind === 'whole') {
      payloads.push({ start: at + FRAME_HEADER_BYTES, end: frame.end })
      at = frame.end
      continue
    }
    if (frame.kind === 'beyond') {
      return { payloads, damaged, end: at, wantedBytes: frame.bytes, tornAt: null }
    }
    const next = nextFrameBehind(bytes, at, restBytes)
    if (next === restBytes && frame.kind === 'torn') {
      return { payloads, damaged, end: restBytes, wantedBytes: 0, tornAt: at }
    }
    damaged.push({ start: at, end: next })
    at = next
  }
  const wantedBytes = at < restBytes ? FRAME_HEADER_BYTES : 0
  return { payloads, damaged, end: at, wantedBytes, tornAt: null }
}

/** Whole; none; torn: longer than the segment; beyond: whether it is one stands in bytes not read yet. */
type Frame =
  | { readonly kind: 'whole'; readonly end: number }
  | { readonly kind: 'none' | 'torn' }
  | { readonly kind: 'beyond'; readonly bytes: number }

const NONE: Frame = { kind: 'none' }
const TORN: Frame = { kind: 'torn' }

function frameAt(bytes: Buffer, at: number, restBytes: number): Frame {
  const rest = restBytes - at
  if (rest < FRAME_HEADER_BYTES) return startsLikeFrame(bytes, at) ? TORN : NONE
  if (bytes.length - at < FRAME_HEADER_BYTES) return { kind: 'beyond', bytes: FRAME_HEADER_BYTES }
  if (bytes.readUInt32LE(at) !== MAGIC_NUMBER) return NONE
  const frameBytes = FRAME_HEADER_BYTES + bytes.readUInt32LE(at + LENGTH_AT)
  if (frameBytes > rest) return TORN
  const end = at + frameBytes
  if (end > bytes.length) return { kind: 'beyond', bytes: frameBytes }
  const payload = bytes.subarray(at + FRAME_HEADER_BYTES, end)
  return crc32(payload) === bytes.readUInt32LE(at + CHECKSUM_AT) ? { kind: 'whole', end } : NONE
}

/** Of a rest that is shorter than a header. */
function startsLikeFrame(bytes: Buffer, at: number): boolean {
  const start = bytes.subarray(at, at + MAGIC.length)
  return start.equals(MAGIC.subarray(0, start.length))
}

/** The next place behind `at` where a frame stands or may begin; the end of the stretch without one. */
function nextFrameBehind(bytes: Buffer, at: number, restBytes: number): number {
  let from = at + 1
  for (;;) {
    const found = bytes.indexOf(MAGIC, from)
    if (found < 0) break
    const { kind } = frameAt(bytes, found, restBytes)
    if (kind === 'whole' || kind === 'beyond') return found
    from = found + 1
  }
  if (bytes.length >= restBytes) return restBytes
  // The last bytes may be the first of a magic.
  return Math.max(at + 1, bytes.length - MAGIC.length + 1)
}
