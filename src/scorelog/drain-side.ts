import { type FileHandle, open } from 'node:fs/promises'
import { type Stretch, scanFrames } from './frames.ts'
import type { DrainBatch, DrainToken, Rejected, SpoolStretch } from './reader.ts'
import { readRecord, type ScoreRecord } from './record.ts'
import type { RejectedFiles } from './rejected.ts'
import type { Segment, Segments } from './segments.ts'

/** Payload that is read in one turn of the event loop. */
const TURN_BYTES = 512 * 1024

/** Each is a file of its own, synced: many must not keep the drain from telling, or fill the memory. */
const REJECTED_MAX = 100

const NO_PLACE: DrainToken = { directory: '', segment: 0, offset: 0, records: 0 }

interface Piece {
  readonly bytes: Buffer
  readonly payloads: readonly Stretch[]
  readonly damaged: readonly Stretch[]
  readonly end: number
}

interface DrainSideOptions {
  /** Those of processes that are gone first, then that of this one. */
  readonly sources: Segments[]
  readonly rejectedFiles: RejectedFiles
  /** Number of the segment of this process that is written to. */
  readonly inUse: () => number | null
}

/** Reads the segments of this process and of those that are gone, oldest first; one call at a time. */
export class DrainSide {
  private readonly options: DrainSideOptions
  private handle: { readonly path: string; readonly file: FileHandle } | null = null

  constructor(options: DrainSideOptions) {
    this.options = options
  }

  oldest(): SpoolStretch | null {
    const found = this.next()
    if (found === null) return null
    const { source, file, offset } = found
    return {
      ...{ directory: source.name, segment: file.number, path: source.pathOf(file.number) },
      ...{ offset, readableBytes: file.readableBytes },
    }
  }

  /** @param onPassed told of stretches without a record, which are acknowledged already */
  async readBatch(
    recordsMax: number,
    bytesMax: number,
    onPassed: (token: DrainToken) => void,
  ): Promise<DrainBatch> {
    const rejected: Rejected[] = []
    for (;;) {
      const found = this.next()
      if (found === null) return { records: [], rejected, token: NO_PLACE }
      const { source, file, offset } = found
      const piece = await this.readPiece(found, recordsMax, bytesMax)
      const records = await this.recordsOf(piece, rejected, (at) => {
        return `${source.name}-${file.number}-${offset + at}`
      })
      const token: DrainToken = {
        directory: source.name,
        segment: file.number,
        offset: offset + piece.end,
        records: records.length,
      }
      if (records.length > 0) return { records, rejected, token }
      // What can't be read is set aside, and must not stand in the way of what can.
      await this.acknowledge(token)
      onPassed(token)
      if (rejected.length >= REJECTED_MAX) return { records: [], rejected, token: NO_PLACE }
    }
  }

  async acknowledge({ directory, segment, offset }: DrainToken): Promise<void> {
    const source = this.options.sources.find(({ name }) => name === directory)
    if (source === undefined) return
    source.advance({ segment, offset })
    await this.tidy(source)
  }

  /** Removes what is drained; of a process that is gone the directory too. */
  async tidy(source: Segments): Promise<void> {
    const { sources, inUse } = this.options
    const isOwn = source === sources.at(-1)
    await source.removeDone(isOwn ? inUse() : null)
    await this.closeRemoved()
    if (isOwn || source.files.length > 0) return
    sources.splice(sources.indexOf(source), 1)
    source.close()
  }

  /** A file that is kept open takes its place on the disk after it was removed. */
  private async closeRemoved(): Promise<void> {
    const { path } = this.handle ?? {}
    const isThere = this.options.sources.some((source) =>
      source.files.some(({ number }) => source.pathOf(number) === path),
    )
    if (path !== undefined && !isThere) await this.close()
  }

  private next(): Place | null {
    for (const source of this.options.sources) {
      const found = source.next()
      if (found !== null) return { source, ...found }
    }
    return null
  }

  /** What is no record is set aside, under the name of its place. */
  private async recordsOf(
    { bytes, payloads, damaged }: Piece,
    rejected: Rejected[],
    nameAt: (at: number) => string,
  ): Promise<ScoreRecord[]> {
    const reject = ({ start, end }: Stretch, reason: string) => {
      const payload = Buffer.from(bytes.subarray(start, end))
      this.options.rejectedFiles.keep(nameAt(start), payload, reason)
      rejected.push({ payload, reason })
    }
    for (const stretch of damaged) reject(stretch, 'the spool is damaged here')
    const records: ScoreRecord[] = []
    let turnBytes = 0
    for (const stretch of payloads) {
      turnBytes += stretch.end - stretch.start
      if (turnBytes > TURN_BYTES) {
        turnBytes = 0
        await new Promise((resolve) => setImmediate(resolve))
      }
      try {
        records.push(readRecord(bytes.subarray(stretch.start, stretch.end)))
      } catch (error) {
        reject(stretch, error instanceof Error ? error.message : 'this is no record')
        turnBytes = TURN_BYTES
      }
    }
    return records
  }

  /** At least one frame or damaged stretch, whatever its size. */
  private async readPiece(
    { source, file, offset }: Place,
    recordsMax: number,
    bytesMax: number,
  ): Promise<Piece> {
    let wantedBytes = Math.min(file.readableBytes - offset, bytesMax)
    for (;;) {
      const bytes = await this.read(source.pathOf(file.number), offset, wantedBytes)
      if (bytes.length < wantedBytes) {
        // Someone has cut the file, or taken it away.
        file.bytes = offset + bytes.length
        file.readableBytes = file.bytes
      }
      const restBytes = file.readableBytes - offset
      const { payloads, damaged, ...scan } = scanFrames(bytes, restBytes, recordsMax)
      if (scan.tornAt !== null) {
        // Amid a segment no write was cut off: it is damage.
        const torn = { start: scan.tornAt, end: restBytes }
        return { bytes, payloads, damaged: [...damaged, torn], end: restBytes }
      }
      if (scan.end > 0 || restBytes === 0) return { bytes, payloads, damaged, end: scan.end }
      wantedBytes = Math.max(scan.wantedBytes, wantedBytes)
    }
  }

  /** @returns fewer bytes where the file ends before */
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

interface Place {
  readonly source: Segments
  readonly file: Segment
  readonly offset: number
}
