import { closeSync, existsSync, openSync, readFileSync, readSync, writeFileSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { randomBase62 } from '../../platform/ids.ts'

/** End of the drained records. */
export interface Cursor {
  readonly segment: number
  readonly offset: number
}

export const START: Cursor = { segment: 0, offset: 0 }

/** Negative if `one` comes first, 0 if both are the same place. */
export function compareCursors(one: Cursor, other: Cursor): number {
  return one.segment - other.segment || one.offset - other.offset
}

/** Content of a cursor file: how far a spool is drained, and where it ended at that time. */
export interface StoredCursor {
  readonly at: Cursor
  readonly end: Cursor
  readonly identity: string
}

/** Bytes before the records of a segment. */
interface SegmentHead {
  readonly identity: string
  readonly number: number
  /** End of the segment before it, when this one was begun. */
  readonly previous: Cursor
}

/** Version of each of the three forms. */
const VERSION = 1
const IDENTITY = /^[0-9A-Za-z]{22}$/
/** 131 random bits. */
const IDENTITY_CHARS = 22
const CHECKSUM_BYTES = 4
const OFFSET_BYTES = 6
/** Segment and offset. */
const PLACE_BYTES = 4 + OFFSET_BYTES
/** The version comes first. */
const CURSOR_AT = 1
const CURSOR_IDENTITY_AT = CURSOR_AT + 2 * PLACE_BYTES
const CURSOR_BYTES = CURSOR_IDENTITY_AT + IDENTITY_CHARS + CHECKSUM_BYTES
/** Ends with the version. */
const HEAD_MAGIC = Buffer.from([0xff, 0x53, 0x47, VERSION])
const HEAD_USED_BYTES = HEAD_MAGIC.length + 4 + PLACE_BYTES + IDENTITY_CHARS + CHECKSUM_BYTES
/** Offset of the records of a segment. */
export const HEAD_BYTES = 64

export function segmentName(number: number): string {
  return `${String(number).padStart(8, '0')}.seg`
}

/** Returns where the records behind a position begin in its segment. */
export function startIn({ offset }: Cursor): number {
  return Math.max(HEAD_BYTES, offset)
}

export function newIdentity(): string {
  return randomBase62(IDENTITY_CHARS)
}

/** Writes the identity file: the version, the identity, and a CRC-32 of both in hex. */
export function writeIdentity(path: string, identity: string): void {
  const text = `${VERSION} ${identity}`
  writeFileSync(path, `${text} ${checksumText(text)}`, { mode: 0o600, flush: true })
}

/** @returns null if the file is missing, damaged or of another version */
export function readIdentity(path: string): string | null {
  if (!existsSync(path)) return null
  const [version, identity = '', checksum] = readFileSync(path, 'latin1').split(' ')
  const isSound = checksum === checksumText(`${version} ${identity}`) && IDENTITY.test(identity)
  return isSound && version === String(VERSION) ? identity : null
}

export function cursorBytes({ at, end, identity }: StoredCursor): Buffer {
  const bytes = Buffer.alloc(CURSOR_BYTES)
  bytes.writeUInt8(VERSION)
  writePlace(bytes, CURSOR_AT, at)
  writePlace(bytes, CURSOR_AT + PLACE_BYTES, end)
  bytes.write(identity, CURSOR_IDENTITY_AT, 'latin1')
  return sealed(bytes, CURSOR_BYTES)
}

/** @returns null if the file is damaged, empty, or of another version */
export function readCursor(descriptor: number): StoredCursor | null {
  const bytes = Buffer.alloc(CURSOR_BYTES)
  readSync(descriptor, bytes, 0, CURSOR_BYTES, 0)
  if (!isSealed(bytes, CURSOR_BYTES) || bytes[0] !== VERSION) return null
  const identity = bytes.toString('latin1', CURSOR_IDENTITY_AT, CURSOR_BYTES - CHECKSUM_BYTES)
  const end = placeAt(bytes, CURSOR_AT + PLACE_BYTES)
  return { at: placeAt(bytes, CURSOR_AT), end, identity }
}

export function headBytes({ identity, number, previous }: SegmentHead): Buffer {
  const bytes = Buffer.alloc(HEAD_BYTES)
  HEAD_MAGIC.copy(bytes)
  let at = bytes.writeUInt32LE(number, HEAD_MAGIC.length)
  writePlace(bytes, at, previous)
  at += PLACE_BYTES
  bytes.write(identity, at, 'latin1')
  return sealed(bytes, HEAD_USED_BYTES)
}

/** @returns null if the segment is too short, or its head damaged or of another version */
export function readHead(path: string): SegmentHead | null {
  const bytes = Buffer.alloc(HEAD_BYTES)
  const descriptor = openSync(path, 'r')
  try {
    readSync(descriptor, bytes, 0, HEAD_BYTES, 0)
  } finally {
    closeSync(descriptor)
  }
  if (!isSealed(bytes, HEAD_USED_BYTES)) return null
  if (!bytes.subarray(0, HEAD_MAGIC.length).equals(HEAD_MAGIC)) return null
  const placed = HEAD_MAGIC.length + 4
  const identity = bytes.toString('latin1', placed + PLACE_BYTES, HEAD_USED_BYTES - CHECKSUM_BYTES)
  const number = bytes.readUInt32LE(HEAD_MAGIC.length)
  return { identity, number, previous: placeAt(bytes, placed) }
}

function writePlace(bytes: Buffer, at: number, { segment, offset }: Cursor): void {
  bytes.writeUInt32LE(segment, at)
  bytes.writeUIntLE(offset, at + 4, OFFSET_BYTES)
}

function placeAt(bytes: Buffer, at: number): Cursor {
  return { segment: bytes.readUInt32LE(at), offset: bytes.readUIntLE(at + 4, OFFSET_BYTES) }
}

function sealed(bytes: Buffer, end: number): Buffer {
  bytes.writeUInt32LE(crc32(bytes.subarray(0, end - CHECKSUM_BYTES)), end - CHECKSUM_BYTES)
  return bytes
}

/** Zeros are no form: their checksum is not zero. */
function isSealed(bytes: Buffer, end: number): boolean {
  const checksum = bytes.readUInt32LE(end - CHECKSUM_BYTES)
  return crc32(bytes.subarray(0, end - CHECKSUM_BYTES)) === checksum
}

function checksumText(text: string): string {
  return crc32(text).toString(16).padStart(8, '0')
}
