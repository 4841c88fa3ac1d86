import { isUtf8 } from 'node:buffer'
import type { BatchPosition, UnknownColumns } from '../batch.ts'
import {
  CHUNK_RECORDS_MAX,
  type FileRecord,
  invalidFile,
  type Portion,
  type ReadBytes,
  type RecordReader,
  type Records,
} from './record.ts'

export interface LineForm {
  readonly unknownColumns: UnknownColumns
  /** True if the first line is a header, which `readHeader` gets first. */
  readonly hasHeader: boolean
  /** @throws AppError `invalid_file` */
  readHeader(line: string): void
  read(line: string, number: number): FileRecord
}

/** Longest line, as the body of a single score. */
export const LINE_BYTES_MAX = 1024 * 1024
const LONG_LINE = `the line is longer than ${LINE_BYTES_MAX} bytes: put each applicant on a line of their own, without columns that no model uses`
const CHUNK_BYTES = 2 * 1024 * 1024
const NEWLINE = 0x0a
const RETURN = 0x0d
const MARK = Buffer.from([0xef, 0xbb, 0xbf])
const GZIP = Buffer.from([0x1f, 0x8b])

interface LineReaderOptions {
  readonly window: FileWindow
  readonly form: LineForm
  readonly position: BatchPosition
  readonly recordsMax: number
}

/** Reads a file of lines. Blank lines are left out, and count as lines. */
export class LineReader implements RecordReader {
  readonly total = null
  readonly place = null
  private readonly window: FileWindow
  private readonly form: LineForm
  private readonly recordsMax: number
  private position: BatchPosition
  private isBegun = false

  constructor({ window, form, position, recordsMax }: LineReaderOptions) {
    this.window = window
    this.form = form
    this.position = position
    this.recordsMax = Math.min(recordsMax, CHUNK_RECORDS_MAX)
  }

  get unknownColumns(): UnknownColumns {
    return this.form.unknownColumns
  }

  async next(): Promise<Portion | null> {
    if (!this.isBegun) await this.begin()
    if (this.position.offset >= this.window.fileBytes) return null
    // What lies behind it depends on where this run began, and must not move the end of the chunk.
    const bytes = (await this.window.at(this.position.offset, CHUNK_BYTES)).subarray(0, CHUNK_BYTES)
    const isLast = this.position.offset + bytes.length >= this.window.fileBytes
    const first = this.position.line
    let count = 0
    let at = 0
    let { line } = this.position
    while (at < bytes.length && count < this.recordsMax) {
      const newline = bytes.indexOf(NEWLINE, at)
      if (newline < 0 && !isLast) break
      const end = newline < 0 ? bytes.length : newline
      line++
      if (withoutReturn(bytes.subarray(at, end)).length > 0) count++
      at = newline < 0 ? bytes.length : newline + 1
    }
    if (at === 0) return this.skipLine()
    this.position = { offset: this.position.offset + at, line }
    const records = new LineRecords(bytes.subarray(0, at), count, (text, number) =>
      this.readRecord(text, first + number),
    )
    return { records, position: this.position }
  }

  /** A line that is longer than a chunk is a chunk of its own. Its bytes pass, and are not kept. */
  private async skipLine(): Promise<Portion> {
    const { window } = this
    let { offset } = this.position
    let newline = -1
    while (newline < 0 && offset < window.fileBytes) {
      const bytes = (await window.at(offset, CHUNK_BYTES)).subarray(0, CHUNK_BYTES)
      newline = bytes.indexOf(NEWLINE)
      offset += newline < 0 ? bytes.length : newline + 1
    }
    const line = this.position.line + 1
    this.position = { offset, line }
    return { records: [faultyRecord(line, LONG_LINE)], position: this.position }
  }

  /** The header is read again when the work goes on later in the file. */
  private async begin(): Promise<void> {
    this.isBegun = true
    const start = await this.window.at(0, CHUNK_BYTES)
    if (start.subarray(0, GZIP.length).equals(GZIP)) {
      throw invalidFile('the file is compressed by gzip: unpack it first')
    }
    const markBytes = start.subarray(0, MARK.length).equals(MARK) ? MARK.length : 0
    if (!this.form.hasHeader) {
      if (this.position.offset === 0) this.position = { offset: markBytes, line: 0 }
      return
    }
    const newline = start.indexOf(NEWLINE)
    const end = newline < 0 ? start.length : newline
    if (newline < 0 && start.length < this.window.fileBytes) {
      throw invalidFile(`the header has no end within ${CHUNK_BYTES} bytes`)
    }
    const header = withoutReturn(start.subarray(markBytes, end))
    if (!isUtf8(header)) throw invalidFile('the header is not UTF-8')
    this.form.readHeader(header.toString())
    if (this.position.offset === 0) this.position = { offset: Math.max(end + 1, 1), line: 1 }
  }

  private readRecord(text: Buffer, line: number): FileRecord {
    if (text.length > LINE_BYTES_MAX) {
      return faultyRecord(line, LONG_LINE)
    }
    if (!isUtf8(text)) return faultyRecord(line, 'the line is not UTF-8')
    return this.form.read(text.toString(), line)
  }
}

/**
 * The records of whole lines. Each is made when its turn has come: thousands of applicants at once
 * would cost as much to keep in memory as to score.
 */
class LineRecords implements Records {
  readonly length: number
  private readonly bytes: Buffer
  private readonly make: (text: Buffer, number: number) => FileRecord

  /** @param make makes the record of a line, by its number in these bytes, from 1 */
  constructor(bytes: Buffer, length: number, make: (text: Buffer, number: number) => FileRecord) {
    this.bytes = bytes
    this.length = length
    this.make = make
  }

  *[Symbol.iterator](): Generator<FileRecord> {
    const { bytes, make } = this
    let number = 0
    for (let at = 0; at < bytes.length; ) {
      const newline = bytes.indexOf(NEWLINE, at)
      const end = newline < 0 ? bytes.length : newline
      const text = withoutReturn(bytes.subarray(at, end))
      number++
      if (text.length > 0) yield make(text, number)
      at = end + 1
    }
  }
}

export function faultyRecord(
  line: number,
  fault: string,
  id: string | number | null = null,
): FileRecord {
  return { line, id, applicant: null, fault }
}

function withoutReturn(bytes: Buffer): Buffer {
  return bytes.at(-1) === RETURN ? bytes.subarray(0, -1) : bytes
}

/** Bytes that one read of the file asks for. */
const WINDOW_BYTES = 4 * 1024 * 1024

/** A part of a file that moves forward: each byte is read once. */
export class FileWindow {
  readonly fileBytes: number
  private readonly read: ReadBytes
  private bytes: Buffer = Buffer.alloc(0)
  private from = 0

  constructor(read: ReadBytes, fileBytes: number) {
    this.read = read
    this.fileBytes = fileBytes
  }

  /**
   * The bytes from an offset on.
   *
   * @param wanted so many at least, fewer at the end of the file; at most 4 MiB
   */
  async at(offset: number, wanted: number): Promise<Buffer> {
    const isInside = offset >= this.from && offset <= this.from + this.bytes.length
    const held = isInside ? this.bytes.subarray(offset - this.from) : Buffer.alloc(0)
    const rest = this.fileBytes - offset - held.length
    if (held.length >= wanted || rest <= 0) return held
    const more = await this.read(offset + held.length, Math.min(rest, WINDOW_BYTES - held.length))
    this.bytes = held.length === 0 ? more : Buffer.concat([held, more])
    this.from = offset
    return this.bytes
  }
}
