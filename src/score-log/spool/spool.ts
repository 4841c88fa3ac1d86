import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../clock.ts'
import { waitForDirectory } from '../directory-lock.ts'
import { AppError } from '../errors.ts'
import { Appender } from './appender.ts'
import { DrainSide } from './drain-side.ts'
import { GroupCommit } from './group-commit.ts'
import type { DrainBatch, DrainToken, SpoolReader, SpoolStats, SpoolStretch } from './reader.ts'
import type { ScoreRecord } from './record.ts'
import { RejectedFiles } from './rejected.ts'
import type { Durability, ResultsWriter, ScoreLog, Told } from './score-log.ts'
import { Segments } from './segments.ts'

const SEGMENT_BYTES_MAX = 64 * 1024 * 1024
/** A spool that is bounded tightly has smaller segments, so that draining makes room soon. */
const SEGMENTS_MIN = 8
/** Of records that gather while a slow disk is synced. */
const GATHERING_BYTES_MAX = 64 * 1024 * 1024
/** After a failed write requests are refused at once for as long as they are told to wait. */
const FAILURE_PAUSE_MS = 1_000
const REJECTED_DIRECTORY = 'rejected'
const TORN = 'the spool ended amid a record, which was cut off'

export interface SpoolOptions {
  /** Holds a directory for each process that has records in the spool. */
  readonly directory: string
  /** Of the directory of this process; sorts behind the names of those before it. */
  readonly name: string
  readonly durability: Durability
  /** Of all segments; at it requests are refused. What gathers in one turn may go beyond. */
  readonly bytesMax: number
  readonly clock: Clock
  /** Told of what an operator must know; the facts hold no personal data. */
  readonly warn: (facts: Readonly<Record<string, unknown>>, text: string) => void
}

/** The spool can't be used; the message is for the operator. */
export class SpoolOpenError extends Error {}

function openError(path: string, cause: unknown): SpoolOpenError {
  const reason = cause instanceof Error ? cause.message : 'unknown'
  return new SpoolOpenError(`The spool of the score log in ${path} can't be opened: ${reason}`, {
    cause,
  })
}

/**
 * Keeps each answered request on the local disk until the database has it.
 *
 * Open: it takes records, see `GroupCommit`, and hands them to the drain, those of processes that are gone
 * first. At its bound, and for a second after a write that failed, it refuses requests before they are
 * scored; it never drops a record. Closed: what was answered and not drained stays for the next process.
 */
export class Spool implements ScoreLog, SpoolReader {
  private readonly options: SpoolOptions
  private readonly own: Segments
  /** Those of others first. */
  private readonly sources: Segments[]
  private readonly rejectedFiles: RejectedFiles
  private readonly appender: Appender
  private readonly group: GroupCommit
  private readonly drainSide: DrainSide
  private readonly listeners: (() => void)[] = []
  private readonly setAsideIds = new Set<string>()
  /** On disk, as of the last write or acknowledgement. */
  private bytes = 0
  private records = 0
  private oldestAtMs: number | null = null
  private failedAtMs = -Infinity

  private constructor(options: SpoolOptions, own: Segments, leftovers: readonly Segments[]) {
    this.options = options
    this.own = own
    this.sources = [...leftovers, own]
    this.rejectedFiles = new RejectedFiles(join(options.directory, REJECTED_DIRECTORY))
    const segmentBytesMax = Math.min(SEGMENT_BYTES_MAX, Math.ceil(options.bytesMax / SEGMENTS_MIN))
    this.appender = new Appender(own, segmentBytesMax)
    this.group = new GroupCommit({
      appender: this.appender,
      durability: options.durability,
      onAppended: (records) => this.noteAppended(records),
      onFailed: (error) => this.noteFailed(error),
    })
    this.drainSide = new DrainSide({
      sources: this.sources,
      rejectedFiles: this.rejectedFiles,
      inUse: () => this.appender.inUse,
    })
    for (const leftover of leftovers) this.adopt(leftover)
    this.countBytes()
  }

  /**
   * Makes the directory of this process, and takes over those of processes that are gone.
   *
   * @throws SpoolOpenError
   */
  static async open(options: SpoolOptions): Promise<Spool> {
    const { directory, name } = options
    const opened: Segments[] = []
    // While one process looks through the directories no other makes or removes one.
    const looking = await waitForDirectory(directory).catch((cause) => {
      throw openError(directory, cause)
    })
    try {
      for (const entry of readdirSync(directory, { withFileTypes: true })) {
        if (!entry.isDirectory() || entry.name === REJECTED_DIRECTORY) continue
        const leftover = Segments.open(join(directory, entry.name))
        if (leftover !== null) opened.push(leftover)
      }
      const leftovers = opened.toSorted((a, b) => (a.name < b.name ? -1 : 1))
      const own = Segments.open(join(directory, name))
      if (own === null) throw new Error(`${name} is taken`)
      opened.push(own)
      looking.close()
      const spool = new Spool(options, own, leftovers)
      for (const leftover of leftovers) await spool.drainSide.tidy(leftover)
      return spool
    } catch (cause) {
      for (const segments of opened) segments.close()
      throw openError(directory, cause)
    } finally {
      looking.close()
    }
  }

  begin(head: Buffer): ResultsWriter {
    const { bytesMax, clock } = this.options
    const gatheringBytes = this.group.writer.endedBytes
    if (this.bytes + gatheringBytes >= bytesMax || gatheringBytes >= GATHERING_BYTES_MAX) {
      throw new AppError('unavailable', 'the score log is full until the database takes more')
    }
    if (this.failedAtMs !== -Infinity) {
      if (clock.monotonicMs() - this.failedAtMs < FAILURE_PAUSE_MS) {
        throw new AppError('unavailable', 'the score can not be logged now')
      }
    }
    this.group.writer.begin(head)
    return this.group.writer
  }

  end(requestId: string, facts: string, told: Told): void {
    if (this.options.durability !== 'database') this.group.add(facts, told)
    else {
      this.group.add(facts, (failure) => {
        const isSetAside = this.setAsideIds.delete(requestId)
        told(
          isSetAside ? new AppError('unavailable', 'the database did not take the score') : failure,
        )
      })
    }
  }

  oldest(): SpoolStretch | null {
    return this.drainSide.oldest()
  }

  async readBatch(maxRecords: number, maxBytes: number): Promise<DrainBatch> {
    const batch = await this.drainSide.readBatch(maxRecords, maxBytes, (token) => this.note(token))
    if (batch.rejected.length > 0) {
      this.options.warn({ rejected: batch.rejected.length }, 'unreadable records were set aside')
    }
    this.oldestAtMs = batch.records[0]?.scoredAtMs ?? null
    return batch
  }

  async acknowledge(token: DrainToken): Promise<void> {
    await this.drainSide.acknowledge(token)
    this.note(token)
    if (this.isDrained() && this.appender.leaveIfLarge()) {
      await this.drainSide.tidy(this.own)
      this.countBytes()
    }
  }

  async setAside(record: ScoreRecord, reason: string): Promise<void> {
    this.rejectedFiles.keep(record.requestId, record.payload, reason)
    if (this.options.durability === 'database') this.setAsideIds.add(record.requestId)
  }

  get stats(): SpoolStats {
    const { oldestAtMs } = this
    const oldestAgeMs =
      oldestAtMs === null ? null : Math.max(0, this.options.clock.epochMs() - oldestAtMs)
    return { bytes: this.bytes, records: this.records, oldestAgeMs }
  }

  onAppend(listener: () => void): void {
    this.listeners.push(listener)
  }

  /** Brings what was answered to the disk; call it when no request is in flight and the drain has ended. */
  async close(): Promise<void> {
    await this.group.flush()
    await this.appender.sync()
    this.appender.leave()
    await this.drainSide.tidy(this.own)
    await this.drainSide.close()
    const looking = await waitForDirectory(this.options.directory)
    for (const source of this.sources) source.close()
    looking.close()
  }

  private adopt(leftover: Segments): void {
    const { clock, warn } = this.options
    const { records } = leftover.inspect((place, tail) => {
      this.rejectedFiles.keep(place, tail, TORN)
      warn({ place, bytes: tail.length }, TORN)
    })
    this.records += records
    if (records === 0) return
    this.oldestAtMs ??= clock.epochMs()
    const facts = { directory: leftover.name, records, bytes: leftover.bytes }
    warn(facts, 'records of a process that has ended will be drained')
  }

  private note({ directory, segment, offset, records, newestAtMs }: DrainToken): void {
    if (directory === this.own.name) this.group.drained(segment, offset)
    this.records = Math.max(0, this.records - records)
    // Else the age is that of what was drained now, until the next batch is read.
    if (this.isDrained()) {
      this.records = 0
      this.oldestAtMs = null
    } else if (newestAtMs !== undefined) this.oldestAtMs = newestAtMs
    this.countBytes()
  }

  private isDrained(): boolean {
    return this.sources.every((source) => source.next() === null)
  }

  private noteAppended(records: number): void {
    this.records += records
    this.oldestAtMs ??= this.options.clock.epochMs()
    this.failedAtMs = -Infinity
    this.countBytes()
    for (const listener of this.listeners) listener()
  }

  private noteFailed(error: unknown): void {
    const isFirst = this.failedAtMs === -Infinity
    this.failedAtMs = this.options.clock.monotonicMs()
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (isFirst) this.options.warn({ code }, 'the spool can not be written to')
  }

  private countBytes(): void {
    this.bytes = this.sources.reduce((sum, { bytes }) => sum + bytes, 0)
  }
}
