import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs'
import { rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { type DirectoryLock, lockDirectory } from '../../platform/data-dir/directory-lock.ts'
import { PAYLOAD_BYTES_MAX, scanFrames } from './frames.ts'
import { openPapers, type SpoolDamage } from './open-papers.ts'
import {
  type Cursor,
  cursorBytes,
  HEAD_BYTES,
  headBytes,
  readCursor,
  START,
  segmentName,
  startIn,
} from './spool-papers.ts'

const SEGMENT_NAME = /^(\d{8})\.seg$/
const CURSOR_FILE = 'cursor'
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

/** Time for which drained files stay. */
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
  /** Found when the directory was opened. */
  readonly damages: readonly SpoolDamage[]
  /** Oldest first. */
  files: Segment[]
  /** Segments of other spools, which somebody has put here, until they are given away. */
  private foreign: Segment[]
  private readonly lock: DirectoryLock
  private readonly cursorDescriptor: number
  private at: Cursor
  /** The last position that the database has. `at` can be further: past damaged records. */
  private stored: Cursor
  /** End that the cursor file has. */
  private notedEnd = START
  private isClosed = false

  private constructor(path: string, lock: DirectoryLock) {
    this.path = path
    this.name = basename(path)
    this.lock = lock
    this.files = listSegments(path)
    const hasCursor = existsSync(join(path, CURSOR_FILE))
    this.cursorDescriptor = openSync(join(path, CURSOR_FILE), hasCursor ? 'r+' : 'w+', 0o600)
    const papers = openPapers(this, readCursor(this.cursorDescriptor))
    this.identity = papers.identity
    this.damages = papers.damages
    this.foreign = this.files.filter(({ number }) => papers.foreign.includes(number))
    this.files = this.files.filter((file) => !this.foreign.includes(file))
    this.at = papers.at
    this.stored = papers.at
    // A segment without a record: a process ended as it began it, or it was emptied.
    this.files = this.files.filter((file) => file.bytes > HEAD_BYTES || this.removed(file))
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

  formatPath(number: number): string {
    return join(this.path, segmentName(number))
  }

  /**
   * The file with the oldest record that can be drained, from a position on; null if there is none.
   */
  next(from: Cursor = this.at): { readonly file: Segment; readonly offset: number } | null {
    for (const file of this.files) {
      if (file.number < from.segment) continue
      const offset = file.number === from.segment ? startIn(from) : HEAD_BYTES
      if (offset < file.readableBytes) return { file, offset }
    }
    return null
  }

  /** The parts of files that are not drained, oldest first. */
  undrained(): { readonly file: Segment; readonly offset: number }[] {
    return this.files.flatMap((file) => {
      if (file.number < this.at.segment) return []
      const offset = file.number === this.at.segment ? startIn(this.at) : HEAD_BYTES
      return offset < file.readableBytes ? [{ file, offset }] : []
    })
  }

  /**
   * Creates the next file, with a new number.
   *
   * @throws Error of the system; then there is no such file
   */
  create(): { readonly file: Segment; readonly descriptor: number } {
    const last = this.files.at(-1)
    const number = Math.max(this.at.segment, last?.number ?? 0) + 1
    const path = this.formatPath(number)
    const previous = last === undefined ? START : findEnd(last)
    const descriptor = openSync(path, 'wx', 0o600)
    try {
      const head = headBytes({ identity: this.identity, number, previous })
      for (let at = 0; at < head.length; ) at += writeSync(descriptor, head, at)
    } catch (error) {
      closeSync(descriptor)
      rmSync(path, { force: true })
      throw error
    }
    const file = { number, bytes: HEAD_BYTES, readableBytes: HEAD_BYTES }
    this.files.push(file)
    this.writeCursor()
    return { file, descriptor }
  }

  /**
   * Allows the appended records of the newest file to be read. The cursor file notes the first of
   * them that are not drained: else nothing would tell that they were there if the file is emptied.
   */
  release(file: Segment): void {
    file.readableBytes = file.bytes
    const { segment, offset } = this.notedEnd
    const from = file.number === this.at.segment ? startIn(this.at) : HEAD_BYTES
    if (segment === file.number && offset > from) return
    try {
      this.writeCursor()
    } catch {
      // The records are on the disk, and the next release tries again.
    }
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
    const path = this.formatPath(file.number)
    const { tornAt, records } = survey(path, file.bytes)
    if (tornAt !== null) {
      storeTail(
        `${this.name}-${file.number}-${tornAt}`,
        readPart(path, tornAt, file.bytes - tornAt),
      )
      truncateSync(path, tornAt)
      file.bytes = tornAt
      file.readableBytes = tornAt
      // Else the next start would miss what was cut off.
      this.writeCursor()
    }
    const bytesEach = records === 0 ? Infinity : file.bytes / records
    return { records: Math.ceil(this.undrainedBytes / bytesEach) }
  }

  /**
   * Gives away the segments of other spools: under the identity of this one the database would store
   * their records a second time.
   *
   * @param store stores the records, and what stands behind them
   */
  giveAway(store: (position: string, bytes: Buffer) => void): void {
    for (const { number, bytes } of this.foreign) {
      const path = this.formatPath(number)
      const { tornAt } = survey(path, bytes)
      const parts = [HEAD_BYTES, tornAt ?? bytes, bytes]
      for (const [index, start] of parts.entries()) {
        const length = (parts[index + 1] ?? start) - start
        if (length > 0) store(`${this.name}-${number}-${start}`, readPart(path, start, length))
      }
      rmSync(path)
    }
    this.foreign = []
  }

  private get undrainedBytes(): number {
    const { segment, offset } = this.at
    return this.files
      .filter(({ number }) => number >= segment)
      .reduce(
        (sum, { number, bytes }) => sum + bytes - (number === segment ? offset : HEAD_BYTES),
        0,
      )
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

  /** Tells whether all files from a position on are still there. */
  isKeptFrom({ segment }: Cursor): boolean {
    return (this.files[0]?.number ?? 0) <= Math.max(1, segment)
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
      await rm(this.formatPath(file.number), { force: true })
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
    const last = this.files.at(-1)
    const end = last === undefined ? this.at : findEnd(last)
    const bytes = cursorBytes({ at: this.at, end, identity: this.identity })
    writeSync(this.cursorDescriptor, bytes, 0, bytes.length, 0)
    this.notedEnd = end
  }

  private removed({ number }: Segment): false {
    rmSync(this.formatPath(number), { force: true })
    return false
  }

  /** Releases the directory, and removes it if it holds no segment. */
  close(): void {
    this.isClosed = true
    closeSync(this.cursorDescriptor)
    if (this.files.length + this.foreign.length === 0)
      rmSync(this.path, { recursive: true, force: true })
    this.lock.close()
  }
}

/** End of what may be read: more can be on the disk, and may still be taken back. */
function findEnd({ number, readableBytes }: Segment): Cursor {
  return { segment: number, offset: readableBytes }
}

/** Counts the records of a file, and finds the start of an incomplete record at its end. */
function survey(
  path: string,
  fileBytes: number,
): { readonly tornAt: number | null; readonly records: number } {
  let records = 0
  for (let at = HEAD_BYTES; at < fileBytes; ) {
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

function listSegments(path: string): Segment[] {
  return readdirSync(path)
    .flatMap((name) => SEGMENT_NAME.exec(name)?.[1] ?? [])
    .sort()
    .map((number) => {
      const { size } = statSync(join(path, `${number}.seg`))
      return { number: Number(number), bytes: size, readableBytes: size }
    })
}
