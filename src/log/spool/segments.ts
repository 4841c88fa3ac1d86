import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { crc32 } from 'node:zlib'
import { type DirectoryLock, lockDirectory } from '../../platform/data-dir/directory-lock.ts'
import { randomBase62 } from '../../platform/ids/base62.ts'
import { PAYLOAD_BYTES_MAX, scanFrames } from './frames.ts'

const SEGMENT_NAME = /^(\d{8})\.seg$/
const CURSOR_FILE = 'cursor'
const IDENTITY_FILE = 'identity'
const IDENTITY = /^[0-9A-Za-z]{22}$/
/** 131 random bits. */
const IDENTITY_CHARS = 22
const CURSOR_BYTES = 16
const CURSOR_CHECKSUM_AT = 12
const OFFSET_BYTES = 6
/**
 * Bytes of a file surveyed at a time: twice the largest record, so that a torn one fits.
 */
const SURVEYED_BYTES = 2 * PAYLOAD_BYTES_MAX

/** A file of the spool. */
export interface Segment {
  readonly number: number
  /** Length of the valid records; bytes after them are ignored. */
  bytes: number
  /** Length of the part that can be drained. */
  readableBytes: number
  /** When it was first seen to be drained, on a clock that never goes back. */
  drainedAtMs?: number
}

/** End of the drained records. */
export interface Cursor {
  readonly segment: number
  readonly offset: number
}

/** Negative if `one` comes first, 0 if both are the same place. */
export function compareCursors(one: Cursor, other: Cursor): number {
  return one.segment - other.segment || one.offset - other.offset
}

/** How long drained files stay. */
export interface Keeping {
  readonly keepMs: number
  /** On a clock that never goes back. */
  readonly nowMs: number
  /** Bytes that must go although they are not that old. */
  readonly excessBytes: number
}

/**
 * The segments of one process, in a directory of its own: the records of answered requests that are
 * not in the database yet. The directory is locked by the process that writes it or, after its end,
 * by the process that drains the rest.
 */
export class Segments {
  readonly name: string
  readonly path: string
  /** Random name under which the database knows how far this directory is drained. */
  readonly identity: string
  /** Whether the version before has drained a part of it: the database has no cursor of that. */
  private readonly isOfBefore: boolean
  /** Oldest first. */
  readonly files: Segment[]
  private readonly lock: DirectoryLock
  private readonly cursorDescriptor: number
  private at: Cursor
  /** What the database said last. Damaged records behind it can be passed already. */
  private stored: Cursor
  private isClosed = false

  private constructor(path: string, lock: DirectoryLock) {
    this.path = path
    this.name = basename(path)
    this.lock = lock
    const hasIdentity = existsSync(join(path, IDENTITY_FILE))
    this.identity = identityOf(path)
    this.files = segmentsIn(path)
    this.cursorDescriptor = openSync(
      join(path, CURSOR_FILE),
      existsSync(join(path, CURSOR_FILE)) ? 'r+' : 'w+',
      0o600,
    )
    this.at = readCursor(this.cursorDescriptor)
    this.stored = this.at
    this.isOfBefore = !hasIdentity && this.at.segment > 0
    // Written now, to reserve its disk space: on a full disk the drain must still make room.
    this.writeCursor()
  }

  /** @returns null if a running process has the lock */
  static open(path: string): Segments | null {
    const lock = lockDirectory(path)
    if (lock === null) return null
    try {
      return new Segments(path, lock)
    } catch (error) {
      lock.close()
      throw error
    }
  }

  get bytes(): number {
    let bytes = 0
    for (const file of this.files) bytes += file.bytes
    return bytes
  }

  /** Bytes of the files that are not drained, or open for writing. */
  bytesInUse(inUse: number | null): number {
    let bytes = 0
    for (const file of this.files) if (!this.isDone(file, inUse)) bytes += file.bytes
    return bytes
  }

  get cursor(): Cursor {
    return this.at
  }

  /** The position that the next batch expects in the database. */
  get storedCursor(): Cursor {
    return this.stored
  }

  pathOf(number: number): string {
    return join(this.path, `${String(number).padStart(8, '0')}.seg`)
  }

  /**
   * The file with the oldest record that can be drained, from a position on; null if there is none.
   */
  next(from: Cursor = this.at): { readonly file: Segment; readonly offset: number } | null {
    for (const file of this.files) {
      if (file.number < from.segment) continue
      const offset = file.number === from.segment ? from.offset : 0
      if (offset < file.readableBytes) return { file, offset }
    }
    return null
  }

  /** The parts of files that are not drained, oldest first. */
  undrained(): { readonly file: Segment; readonly offset: number }[] {
    return this.files.flatMap((file) => {
      if (file.number < this.at.segment) return []
      const offset = file.number === this.at.segment ? this.at.offset : 0
      return offset < file.readableBytes ? [{ file, offset }] : []
    })
  }

  /** Creates the next file, with a new number. */
  create(): { readonly file: Segment; readonly descriptor: number } {
    const number = Math.max(this.at.segment, this.files.at(-1)?.number ?? 0) + 1
    const descriptor = openSync(this.pathOf(number), 'wx', 0o600)
    const file = { number, bytes: 0, readableBytes: 0 }
    this.files.push(file)
    return { file, descriptor }
  }

  /**
   * Inspects the files of an ended process: cuts off an incomplete record at the end, and counts.
   *
   * @param storeTail stores the bytes before they are cut off: they can be an answered record with
   *   a damaged length
   * @returns records that are not drained, estimated from the newest file
   */
  inspect(storeTail: (position: string, tail: Buffer) => void): { readonly records: number } {
    const file = this.files.at(-1)
    if (file === undefined) return { records: 0 }
    const path = this.pathOf(file.number)
    const { tornAt, records } = survey(path, file.bytes)
    if (tornAt !== null) {
      storeTail(
        `${this.name}-${file.number}-${tornAt}`,
        readPart(path, tornAt, file.bytes - tornAt),
      )
      truncateSync(path, tornAt)
      file.bytes = tornAt
      file.readableBytes = tornAt
    }
    const bytesEach = records === 0 ? Infinity : file.bytes / records
    return { records: Math.ceil(this.undrainedBytes / bytesEach) }
  }

  private get undrainedBytes(): number {
    const { segment, offset } = this.at
    return this.files
      .filter(({ number }) => number >= segment)
      .reduce((sum, { number, bytes }) => sum + bytes - (number === segment ? offset : 0), 0)
  }

  /**
   * Stores the end of the drained records. It can lag: the database knows which records it has.
   *
   * @param isStored whether the database has this position; it has none of damaged records
   */
  advance(cursor: Cursor, isStored: boolean): void {
    this.at = cursor
    if (isStored) this.stored = cursor
    this.writeCursor()
  }

  /** Whether all files from a position on are still there. */
  isKeptFrom({ segment }: Cursor): boolean {
    return this.isOfBefore || (this.files[0]?.number ?? 0) <= Math.max(1, segment)
  }

  /** Goes back to an earlier position of the database: what is behind it is drained again. */
  rewind(cursor: Cursor): void {
    this.advance(cursor, true)
    for (const file of this.files) {
      if (file.number >= cursor.segment) delete file.drainedAtMs
    }
  }

  /**
   * Removes files that have been drained for long enough.
   *
   * @param inUse number of the file that is open for writing, which stays
   */
  async removeDone(inUse: number | null, { keepMs, nowMs, excessBytes }: Keeping): Promise<void> {
    let excess = excessBytes
    for (const file of [...this.files]) {
      if (!this.isDone(file, inUse)) return
      file.drainedAtMs ??= nowMs
      if (excess <= 0 && nowMs - file.drainedAtMs < keepMs) continue
      excess -= file.bytes
      await rm(this.pathOf(file.number), { force: true })
      // Another call can have removed it meanwhile.
      const at = this.files.indexOf(file)
      if (at >= 0) this.files.splice(at, 1)
    }
  }

  private isDone({ number, bytes }: Segment, inUse: number | null): boolean {
    const { segment, offset } = this.at
    return number !== inUse && (number < segment || (number === segment && offset >= bytes))
  }

  private writeCursor(): void {
    // After `close` the descriptor can belong to another file.
    if (this.isClosed) return
    const bytes = Buffer.alloc(CURSOR_BYTES)
    bytes.writeUInt32LE(this.at.segment)
    bytes.writeUIntLE(this.at.offset, 4, OFFSET_BYTES)
    bytes.writeUInt32LE(crc32(bytes.subarray(0, CURSOR_CHECKSUM_AT)), CURSOR_CHECKSUM_AT)
    writeSync(this.cursorDescriptor, bytes, 0, CURSOR_BYTES, 0)
  }

  /** Releases the directory, and removes it if it holds no segment. */
  close(): void {
    this.isClosed = true
    closeSync(this.cursorDescriptor)
    if (this.files.length === 0) rmSync(this.path, { recursive: true, force: true })
    this.lock.close()
  }
}

/**
 * Reads the identity of a directory, or gives it one. It is written before the first record, and a
 * damaged one is replaced: the database then takes the directory for a new one.
 */
function identityOf(path: string): string {
  const file = join(path, IDENTITY_FILE)
  const known = existsSync(file) ? readFileSync(file, 'utf8') : ''
  if (IDENTITY.test(known)) return known
  const identity = randomBase62(IDENTITY_CHARS)
  writeFileSync(file, identity, { mode: 0o600, flush: true })
  return identity
}

/** Counts the records of a file, and finds the start of an incomplete record at its end. */
function survey(
  path: string,
  fileBytes: number,
): { readonly tornAt: number | null; readonly records: number } {
  let records = 0
  for (let at = 0; at < fileBytes; ) {
    const bytes = readPart(path, at, Math.min(SURVEYED_BYTES, fileBytes - at))
    const scan = scanFrames(bytes, fileBytes - at)
    records += scan.payloads.length
    if (scan.tornAt !== null) return { tornAt: at + scan.tornAt, records }
    if (scan.oversizedBytes > 0) records++
    // The file has become shorter.
    if (scan.end + scan.oversizedBytes === 0) break
    at += scan.end + scan.oversizedBytes
  }
  return { tornAt: null, records }
}

function readPart(path: string, start: number, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  const descriptor = openSync(path, 'r')
  try {
    let read = 0
    while (read < length) {
      const more = readSync(descriptor, bytes, read, length - read, start + read)
      if (more === 0) break
      read += more
    }
    return bytes.subarray(0, read)
  } finally {
    closeSync(descriptor)
  }
}

function segmentsIn(path: string): Segment[] {
  return readdirSync(path)
    .flatMap((name) => SEGMENT_NAME.exec(name)?.[1] ?? [])
    .sort()
    .map((number) => {
      const { size } = statSync(join(path, `${number}.seg`))
      return { number: Number(number), bytes: size, readableBytes: size }
    })
}

/** Reads the cursor; starts from the beginning if it is damaged. */
function readCursor(descriptor: number): Cursor {
  const bytes = Buffer.alloc(CURSOR_BYTES)
  readSync(descriptor, bytes, 0, CURSOR_BYTES, 0)
  const isWhole =
    crc32(bytes.subarray(0, CURSOR_CHECKSUM_AT)) === bytes.readUInt32LE(CURSOR_CHECKSUM_AT)
  return isWhole
    ? { segment: bytes.readUInt32LE(), offset: bytes.readUIntLE(4, OFFSET_BYTES) }
    : { segment: 0, offset: 0 }
}
