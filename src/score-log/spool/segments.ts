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
  writeSync,
} from 'node:fs'
import { rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { crc32 } from 'node:zlib'
import { type DirectoryLock, lockDirectory } from '../directory-lock.ts'
import { scanFrames } from './frames.ts'

const SEGMENT_NAME = /^(\d{8})\.seg$/
const CURSOR_FILE = 'cursor'
const CURSOR_BYTES = 16
const CURSOR_CHECKSUM_AT = 12
const OFFSET_BYTES = 6

/** A file of the spool. */
export interface Segment {
  readonly number: number
  /** Of records; what stands behind them in the file is none. */
  bytes: number
  /** Up to here records may be drained. */
  readableBytes: number
}

/** Up to where records are drained. */
export interface Cursor {
  readonly segment: number
  readonly offset: number
}

/**
 * The segments of one process, in a directory of its own: the records that it has answered and that are not
 * in the database yet. Locked by the process that writes it and, once that one is gone, by the one that
 * drains the rest.
 */
export class Segments {
  readonly name: string
  readonly path: string
  /** Oldest first. */
  readonly files: Segment[]
  private readonly lock: DirectoryLock
  private readonly cursorDescriptor: number
  private at: Cursor
  private isClosed = false

  private constructor(path: string, lock: DirectoryLock) {
    this.path = path
    this.name = basename(path)
    this.lock = lock
    this.files = segmentsIn(path)
    this.cursorDescriptor = openSync(
      join(path, CURSOR_FILE),
      existsSync(join(path, CURSOR_FILE)) ? 'r+' : 'w+',
      0o600,
    )
    this.at = readCursor(this.cursorDescriptor)
    // Takes its place on the disk now: a full one must not keep the drain from making room.
    this.writeCursor()
  }

  /** @returns null when a process that is alive has it */
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

  get cursor(): Cursor {
    return this.at
  }

  pathOf(number: number): string {
    return join(this.path, `${String(number).padStart(8, '0')}.seg`)
  }

  /** The file that holds the oldest record which may be drained, or null. */
  next(): { readonly file: Segment; readonly offset: number } | null {
    for (const file of this.files) {
      if (file.number < this.at.segment) continue
      const offset = file.number === this.at.segment ? this.at.offset : 0
      if (offset < file.readableBytes) return { file, offset }
    }
    return null
  }

  /** Makes the next file, with a number that was never used. */
  create(): { readonly file: Segment; readonly descriptor: number } {
    const number = Math.max(this.at.segment, this.files.at(-1)?.number ?? 0) + 1
    const descriptor = openSync(this.pathOf(number), 'wx', 0o600)
    const file = { number, bytes: 0, readableBytes: 0 }
    this.files.push(file)
    return { file, descriptor }
  }

  /**
   * Looks into what a process has left: cuts off what its last write left of a record, and counts.
   *
   * @param keepTail takes what is cut off before it is gone: a record that was answered looks like that too,
   *   when its length is damaged
   * @returns records that are not drained, estimated from the newest file
   */
  inspect(keepTail: (place: string, tail: Buffer) => void): { readonly records: number } {
    const file = this.files.at(-1)
    if (file === undefined) return { records: 0 }
    const path = this.pathOf(file.number)
    const bytes = readFileSync(path)
    const { tornAt, payloads } = scanFrames(bytes, file.bytes)
    if (tornAt !== null) {
      keepTail(`${this.name}-${file.number}-${tornAt}`, bytes.subarray(tornAt))
      truncateSync(path, tornAt)
      file.bytes = tornAt
      file.readableBytes = tornAt
    }
    const bytesEach = payloads.length === 0 ? Infinity : file.bytes / payloads.length
    return { records: Math.ceil(this.undrainedBytes / bytesEach) }
  }

  private get undrainedBytes(): number {
    const { segment, offset } = this.at
    return this.files
      .filter(({ number }) => number >= segment)
      .reduce((sum, { number, bytes }) => sum + bytes - (number === segment ? offset : 0), 0)
  }

  /** Notes up to where records are drained; may lag behind, the database knows which records it has. */
  advance(cursor: Cursor): void {
    this.at = cursor
    this.writeCursor()
  }

  /**
   * Removes the files that are drained.
   *
   * @param inUse number of the file that is written to, which stays
   */
  async removeDone(inUse: number | null): Promise<void> {
    while (this.files[0] !== undefined && this.isDone(this.files[0], inUse)) {
      await rm(this.pathOf(this.files[0].number), { force: true })
      this.files.shift()
    }
  }

  private isDone({ number, bytes }: Segment, inUse: number | null): boolean {
    const { segment, offset } = this.at
    return number !== inUse && (number < segment || (number === segment && offset >= bytes))
  }

  private writeCursor(): void {
    // Its descriptor may be that of another file by now.
    if (this.isClosed) return
    const bytes = Buffer.alloc(CURSOR_BYTES)
    bytes.writeUInt32LE(this.at.segment)
    bytes.writeUIntLE(this.at.offset, 4, OFFSET_BYTES)
    bytes.writeUInt32LE(crc32(bytes.subarray(0, CURSOR_CHECKSUM_AT)), CURSOR_CHECKSUM_AT)
    writeSync(this.cursorDescriptor, bytes, 0, CURSOR_BYTES, 0)
  }

  /** Gives the directory up; it goes when nothing is left in it. */
  close(): void {
    this.isClosed = true
    closeSync(this.cursorDescriptor)
    if (this.files.length === 0) rmSync(this.path, { recursive: true, force: true })
    this.lock.close()
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

/** From the beginning when it can't be read. */
function readCursor(descriptor: number): Cursor {
  const bytes = Buffer.alloc(CURSOR_BYTES)
  readSync(descriptor, bytes, 0, CURSOR_BYTES, 0)
  const isWhole =
    crc32(bytes.subarray(0, CURSOR_CHECKSUM_AT)) === bytes.readUInt32LE(CURSOR_CHECKSUM_AT)
  return isWhole
    ? { segment: bytes.readUInt32LE(), offset: bytes.readUIntLE(4, OFFSET_BYTES) }
    : { segment: 0, offset: 0 }
}
