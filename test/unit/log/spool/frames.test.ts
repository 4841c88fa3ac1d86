import { expect, test } from 'vitest'
import {
  FRAME_HEADER_BYTES,
  PAYLOAD_BYTES_MAX,
  scanFrames,
  sealFrame,
} from '../../../../src/log/spool/frames.ts'

const PAYLOADS = ['{"first":1}', '', '{"a text":"äöü 🏦"}', 'x'.repeat(300), '{"last":true}']

function makeFrame(text: string): Buffer {
  const payload = Buffer.from(text)
  const frame = Buffer.concat([Buffer.alloc(FRAME_HEADER_BYTES), payload])
  sealFrame(frame, 0, frame.length)
  return frame
}

const frames = PAYLOADS.map(makeFrame)
const segment = Buffer.concat(frames)
/** Where each frame ends. */
const ends = frames.map((_, index) => Buffer.concat(frames.slice(0, index + 1)).length)

function scan(bytes: Buffer, restBytes = bytes.length) {
  const { payloads, damaged, ...rest } = scanFrames(bytes, restBytes)
  const texts = payloads.map(({ start, end }) => bytes.toString('utf8', start, end))
  return { texts, damaged, ...rest }
}

test('whole frames are found, and nothing else', () => {
  const { texts, damaged, end, wantedBytes, tornAt } = scan(segment)
  expect({ texts, damaged, end, wantedBytes, tornAt }).toEqual({
    texts: PAYLOADS,
    damaged: [],
    end: segment.length,
    wantedBytes: 0,
    tornAt: null,
  })
})

// A process that is killed amid a write leaves a part of it: all before it was answered, it was
// not.
test('a segment that ends at any byte keeps its whole frames, and says where the torn one begins', () => {
  for (let size = 0; size <= segment.length; size++) {
    const whole = ends.filter((end) => end <= size)
    const { texts, damaged, tornAt } = scan(segment.subarray(0, size))
    const lastEnd = whole.at(-1) ?? 0
    expect({ size, texts, damaged, tornAt }).toEqual({
      size,
      texts: PAYLOADS.slice(0, whole.length),
      damaged: [],
      tornAt: size === lastEnd ? null : lastEnd,
    })
  }
})

// A damaged sector must cost the records on it, not those behind.
test('a flipped bit anywhere loses its own frame only, and that not silently', () => {
  for (let bit = 0; bit < 8 * segment.length; bit++) {
    const bytes = Buffer.from(segment)
    bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    const hit = ends.findIndex((end) => end > bit >> 3)
    const { texts, damaged, tornAt } = scan(bytes)
    expect({ bit, texts }).toEqual({ bit, texts: PAYLOADS.filter((_, index) => index !== hit) })
    const range = { start: ends[hit - 1] ?? 0, end: ends[hit] }
    // A length that reaches beyond the segment looks like a write that was cut off.
    const reported = tornAt === null ? damaged : [{ start: tornAt, end: segment.length }]
    expect({ bit, reported }).toEqual({ bit, reported: [range] })
  }
})

test('zeros and noise, as a loss of power leaves them, are passed over', () => {
  const noise = Buffer.from(Array.from({ length: 997 }, (_, index) => (index * 7919) % 256))
  for (const damage of [Buffer.alloc(4_096), noise]) {
    const bytes = Buffer.concat([segment, damage, segment])
    const { texts, damaged } = scan(bytes)
    expect(texts).toEqual([...PAYLOADS, ...PAYLOADS])
    expect(damaged).toEqual([{ start: segment.length, end: segment.length + damage.length }])
    expect(scan(Buffer.concat([segment, Buffer.alloc(50)]))).toMatchObject({
      texts: PAYLOADS,
      damaged: [{ start: segment.length, end: segment.length + 50 }],
      tornAt: null,
    })
  }
})

// The drain reads stretches that end anywhere: none may be lost or taken twice where they meet.
test('a segment read in stretches of any size gives the same frames, around damage too', () => {
  const damagedSegment = Buffer.concat([segment, Buffer.alloc(100, 0xff), segment])
  for (let size = 1; size <= damagedSegment.length; size++) {
    const texts: string[] = []
    let at = 0
    let wanted = size
    while (at < damagedSegment.length) {
      const range = damagedSegment.subarray(at, at + Math.max(size, wanted))
      const found = scan(range, damagedSegment.length - at)
      texts.push(...found.texts)
      at += found.end
      wanted = found.end > 0 ? 0 : Math.max(found.wantedBytes, wanted)
    }
    expect({ size, texts }).toEqual({ size, texts: [...PAYLOADS, ...PAYLOADS] })
  }
})

// The record is too large for any database, or its length is damaged: neither may be read to find
// out.
test('a frame that is larger than a record may be is told by its header, behind those before it', () => {
  const small = framed(Buffer.from('small'))
  const header = framed(Buffer.alloc(0))
  header.writeUInt32LE(PAYLOAD_BYTES_MAX + 1, 4)
  const frameBytes = FRAME_HEADER_BYTES + PAYLOAD_BYTES_MAX + 1
  const start = Buffer.concat([small, header])
  const first = scanFrames(start, small.length + frameBytes)
  expect(first).toMatchObject({ end: small.length, oversizedBytes: frameBytes, damaged: [] })
  expect(first.payloads).toHaveLength(1)
  expect(scanFrames(header, frameBytes)).toMatchObject({ end: 0, oversizedBytes: frameBytes })
  expect(scanFrames(header, frameBytes - 1).oversizedBytes).toBe(0)
})

function framed(payload: Buffer): Buffer {
  const bytes = Buffer.concat([Buffer.alloc(FRAME_HEADER_BYTES), payload])
  sealFrame(bytes, 0, bytes.length)
  return bytes
}
