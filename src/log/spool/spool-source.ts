import { type FileHandle, open } from 'node:fs/promises'
import type { DeadLetters } from '../drain/dead-letters.ts'
import { type RecordV4, readRecordV4 } from '../record/record-v4.ts'
import { type ByteRange, FRAME_HEADER_BYTES, readFrameChecksum, scanFrames } from './frames.ts'
import type { SpoolDamage } from './open-papers.ts'
import type { DrainBatch, DrainToken, Rejected, SegmentRange } from './reader.ts'
import type { Keeping, Segment, Segments } from './segments.ts'
import { type Cursor, compareCursors } from './spool-papers.ts'

/** Bytes of payload that are parsed in one turn of the event loop. */
const TURN_BYTES = 512 * 1024

/**
 * Most quarantined ranges of a batch: each is a synced file, and many would delay the report and
 * fill the memory.
 */
const REJECTED_MAX = 100
/** Largest record that can be a witness, and most ranges searched for one. */
const WITNESS_BYTES_MAX = 256 * 1024
const WITNESS_RANGES_MAX = 20
/** Read at a time to count records. */
const COUNTED_BYTES = 8 * 1024 * 1024
const OVERSIZED = 'the record is larger than 32 MiB'

const NO_TOKEN: DrainToken = {
  directory: '',
  spoolId: '',
  from: { segment: 0, offset: 0 },
  segment: 0,
  offset: 0,
  records: 0,
}

interface ReadRange {
  readonly bytes: Buffer
  readonly payloads: readonly ByteRange[]
  readonly damaged: readonly ByteRange[]
  readonly end: number
  /** Length of a frame that is larger than a record can be and fills this range; else 0. */
  readonly oversizedBytes: number
}

/** The part of a directory between two positions. */
interface Way {
  readonly token: DrainToken
  readonly isBack: boolean
  /** True if its records are all on the disk. */
  readonly isWhole: boolean
}

interface SpoolSourceOptions {
  /** Segments of ended processes first, then those of this process. */
  readonly sources: Segments[]
  readonly deadLetters: DeadLetters
  /** Number of the segment that this process has open for writing. */
  readonly inUse: () => number | null
  /** Returns how long drained segments stay. */
  readonly keeping: () => Keeping
  /** Called for records that could be read once, and are not in their segment any more. */
  readonly onLost: (damage: SpoolDamage) => void
}

/**
 * Reads the segments of this and of ended processes, oldest first; one call at a time.
 */
export class SpoolSource {
  private readonly options: SpoolSourceOptions
  private handle: { readonly path: string; readonly file: FileHandle } | null = null

  constructor(options: SpoolSourceOptions) {
    this.options = options
  }

  oldest(): SegmentRange | null {
    const found = this.next()
    if (found === null) return null
    return findRange(found)
  }

  undrained(): SegmentRange[] {
    const { sources } = this.options
    return sources.flatMap((source) =>
      source.undrained().map(({ file, offset }) => findRange({ source, file, offset })),
    )
  }

  /** @param onPassed called for ranges without a record, which are already acknowledged */
  async readBatch(
    recordsMax: number,
    bytesMax: number,
    onPassed: (token: DrainToken) => void,
  ): Promise<DrainBatch> {
    const rejected: Rejected[] = []
    for (;;) {
      const found = this.next()
      if (found === null) return { records: [], rejected, token: NO_TOKEN }
      const { source, file, offset } = found
      const nameAt = (at: number) => `${source.name}-${file.number}-${offset + at}`
      let range = await this.readRange(found, recordsMax, bytesMax)
      if (range.oversizedBytes > 0) range = await this.quarantineOversized(found, range, nameAt(0))
      if (range.oversizedBytes > 0) rejected.push({ position: nameAt(0), reason: OVERSIZED })
      const records = await this.readRecords(range, rejected, nameAt)
      const token: DrainToken = {
        directory: source.name,
        spoolId: source.identity,
        from: source.storedCursor,
        segment: file.number,
        offset: offset + range.end,
        records: records.length,
      }
      if (records.length > 0) return { records, rejected, token }
      // Nothing readable in this range: it is quarantined, and the next range follows.
      await this.advance(token, false)
      onPassed(token)
      if (rejected.length >= REJECTED_MAX) return { records: [], rejected, token: NO_TOKEN }
    }
  }

  /**
   * Small records after a position, from the first range that has any; skips unreadable ones.
   */
  async readBehind(
    { directory, segment, offset }: DrainToken,
    recordsMax: number,
    bytesMax: number,
  ): Promise<RecordV4[]> {
    const { sources } = this.options
    const first = sources.findIndex(({ name }) => name === directory)
    let rangesRead = 0
    for (const source of first < 0 ? [] : sources.slice(first)) {
      let from = source === sources[first] ? { segment, offset } : source.cursor
      for (let found = source.next(from); found !== null; found = source.next(from)) {
        if (++rangesRead > WITNESS_RANGES_MAX) return []
        const range = await this.readRange({ source, ...found }, recordsMax, bytesMax)
        const records = readSmallRecords(range)
        if (records.length > 0) return records
        from = { segment: found.file.number, offset: found.offset + range.end }
      }
    }
    return []
  }

  acknowledge(token: DrainToken): Promise<void> {
    return this.advance(token, true)
  }

  private async advance(token: DrainToken, isStored: boolean): Promise<void> {
    const source = this.options.sources.find(({ name }) => name === token.directory)
    if (source === undefined) return
    source.advance({ segment: token.segment, offset: token.offset }, isStored)
    await this.tidy(source)
  }

  /**
   * Takes over the database's position in a directory.
   *
   * @returns the way to it, which can lead back; null if there is no such directory
   */
  async follow(spoolId: string, stored: Cursor): Promise<Way | null> {
    const source = this.options.sources.find(({ identity }) => identity === spoolId)
    if (source === undefined) return null
    const before = source.cursor
    const isBack = compareCursors(stored, before) <= 0
    const isWhole = source.isKeptFrom(stored)
    if (isBack) source.rewind(stored)
    const records = await this.recordsBetween(source, isBack ? [stored, before] : [before, stored])
    const token = { directory: source.name, spoolId, from: before, ...stored, records }
    if (!isBack) await this.advance(token, true)
    return { token, isBack, isWhole }
  }

  private async recordsBetween(
    source: Segments,
    [start, end]: readonly [Cursor, Cursor],
  ): Promise<number> {
    let records = 0
    let from = start
    for (let found = source.next(from); found !== null; found = source.next(from)) {
      const { file, offset } = found
      if (compareCursors({ segment: file.number, offset }, end) >= 0) break
      const range = await this.readRange({ source, ...found }, Infinity, COUNTED_BYTES)
      const rest = file.number === end.segment ? end.offset - offset : Infinity
      records += range.payloads.filter((payload) => payload.end <= rest).length
      from = { segment: file.number, offset: offset + Math.max(1, range.end) }
    }
    return records
  }

  /** Removes drained files, and the directory of an ended process once it is empty. */
  async tidy(source: Segments): Promise<void> {
    const { sources, inUse, keeping } = this.options
    const isOwn = source === sources.at(-1)
    await source.removeDone(isOwn ? inUse() : null, keeping())
    await this.closeRemoved()
    if (isOwn || source.files.length > 0) return
    sources.splice(sources.indexOf(source), 1)
    source.close()
  }

  /** Closes a removed file: while open it uses disk space. */
  private async closeRemoved(): Promise<void> {
    const { path } = this.handle ?? {}
    const isThere = this.options.sources.some((source) =>
      source.files.some(({ number }) => source.formatPath(number) === path),
    )
    if (path !== undefined && !isThere) await this.close()
  }

  private next(): SegmentPosition | null {
    for (const source of this.options.sources) {
      const found = source.next()
      if (found !== null) return { source, ...found }
    }
    return null
  }

  /** Parses the records; quarantines the rest under the name of its position. */
  private async readRecords(
    { bytes, payloads, damaged }: ReadRange,
    rejected: Rejected[],
    nameAt: (at: number) => string,
  ): Promise<RecordV4[]> {
    const reject = ({ start, end }: ByteRange, reason: string) => {
      this.options.deadLetters.store(nameAt(start), bytes.subarray(start, end), reason)
      rejected.push({ position: nameAt(start), reason })
    }
    for (const range of damaged) reject(range, 'the spool is damaged here')
    const records: RecordV4[] = []
    let turnBytes = 0
    for (const range of payloads) {
      turnBytes += range.end - range.start
      if (turnBytes > TURN_BYTES) {
        turnBytes = 0
        await new Promise((resolve) => setImmediate(resolve))
      }
      try {
        records.push(readRecordV4(bytes.subarray(range.start, range.end)))
      } catch (error) {
        reject(range, error instanceof Error ? error.message : 'this is not a record')
        turnBytes = TURN_BYTES
      }
    }
    return records
  }

  /**
   * Sets a record aside that must not be read into memory.
   *
   * @returns what is left of the range. If it holds no such record, the length was damaged: then
   *   its first byte counts as damage, and what follows is looked at anew
   */
  private async quarantineOversized(
    { source, file, offset }: SegmentPosition,
    range: ReadRange,
    name: string,
  ): Promise<ReadRange> {
    const path = source.formatPath(file.number)
    const part = { path, start: offset + FRAME_HEADER_BYTES, end: offset + range.end }
    const about = { checksum: readFrameChecksum(range.bytes), reason: OVERSIZED }
    if (await this.options.deadLetters.storePart(name, part, about)) return range
    return { ...range, damaged: [{ start: 0, end: 1 }], end: 1, oversizedBytes: 0 }
  }

  /** At least one frame or damaged range, of any size. */
  private async readRange(
    { source, file, offset }: SegmentPosition,
    recordsMax: number,
    bytesMax: number,
  ): Promise<ReadRange> {
    let wantedBytes = Math.min(file.readableBytes - offset, bytesMax)
    for (;;) {
      const bytes = await this.read(source.formatPath(file.number), offset, wantedBytes)
      if (bytes.length < wantedBytes) {
        // The file was shortened.
        const end = offset + bytes.length
        const lost = { directory: source.name, segment: file.number }
        this.options.onLost({ part: 'lost', ...lost, bytes: file.readableBytes - end })
        file.bytes = end
        file.readableBytes = end
      }
      const restBytes = file.readableBytes - offset
      const { payloads, damaged, ...scan } = scanFrames(bytes, restBytes, recordsMax)
      const { oversizedBytes } = scan
      if (scan.end === 0 && oversizedBytes > 0) {
        return { bytes, payloads, damaged, end: oversizedBytes, oversizedBytes }
      }
      if (scan.tornAt !== null) {
        // Only the end of a segment can have a cut write: this is damage.
        const torn = { start: scan.tornAt, end: restBytes }
        return { bytes, payloads, damaged: [...damaged, torn], end: restBytes, oversizedBytes: 0 }
      }
      if (scan.end > 0 || restBytes === 0) {
        return { bytes, payloads, damaged, end: scan.end, oversizedBytes: 0 }
      }
      wantedBytes = Math.max(scan.wantedBytes, wantedBytes)
    }
  }

  /** @returns fewer bytes if the file ends earlier */
  private async read(path: string, offset: number, length: number): Promise<Buffer> {
    if (this.handle?.path !== path) {
      await this.close()
      this.handle = { path, file: await open(path, 'r') }
    }
    const bytes = Buffer.allocUnsafe(length)
    let read = 0
    while (read < length) {
      const { bytesRead } = await this.handle.file.read(bytes, read, length - read, offset + read)
      if (bytesRead === 0) break
      read += bytesRead
    }
    return bytes.subarray(0, read)
  }

  async close(): Promise<void> {
    const { file } = this.handle ?? {}
    this.handle = null
    await file?.close()
  }
}

function readSmallRecords({ bytes, payloads }: ReadRange): RecordV4[] {
  return payloads.flatMap(({ start, end }) => {
    if (end - start > WITNESS_BYTES_MAX) return []
    try {
      return [readRecordV4(bytes.subarray(start, end))]
    } catch {
      return []
    }
  })
}

interface SegmentPosition {
  readonly source: Segments
  readonly file: Segment
  readonly offset: number
}

function findRange({ source, file, offset }: SegmentPosition): SegmentRange {
  return {
    directory: source.name,
    spoolId: source.identity,
    from: source.storedCursor,
    segment: file.number,
    path: source.formatPath(file.number),
    offset,
    readableBytes: file.readableBytes,
  }
}
