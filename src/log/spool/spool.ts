import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { AppError } from '../../errors.ts'
import type { Clock } from '../../platform/clock.ts'
import { waitForDirectory } from '../../platform/data-dir/directory-lock.ts'
import { Periodic } from '../../platform/periodic.ts'
import { DeadLetters } from '../drain/dead-letters.ts'
import type { RecordV4 } from '../record/record-v4.ts'
import type { ResponseFacts } from '../record/record-writer.ts'
import type { Durability, LoggedFacts, OnLogged, OnOutcome, Score, ScoreLog } from '../score-log.ts'
import { Appender, DiskFaults, freeReserve, keepReserve } from './appender.ts'
import { GroupCommit } from './group-commit.ts'
import { FOREIGN, SpoolFaults, TORN } from './open-papers.ts'
import type { DrainBatch, DrainToken, SegmentRange, SpoolReader, SpoolStats } from './reader.ts'
import { type Keeping, Segments } from './segments.ts'
import type { Cursor } from './spool-papers.ts'
import { SpoolSource } from './spool-source.ts'

const SEGMENT_BYTES_MAX = 64 * 1024 * 1024
/** A spool with a small bound has smaller segments, so that draining frees room soon. */
const SEGMENTS_MIN = 8
/** Most bytes of records that gather during a slow sync. */
const GATHERING_BYTES_MAX = 64 * 1024 * 1024
const REJECTED_DIRECTORY = 'rejected'
/** Interval at which kept segments are looked at. */
const TIDY_EVERY_MS = 60_000
/** Above this share of the bound, drained segments are not kept. */
const KEPT_SHARE_MAX = 0.75

export interface SpoolOptions {
  /** Holds a directory for each process that has records in the spool. */
  readonly directory: string
  /** Name of this process's directory; sorts after the names of earlier processes. */
  readonly name: string
  readonly durability: Durability
  /** Most bytes of all segments; at it requests are refused. One turn's records can exceed it. */
  readonly bytesMax: number
  readonly clock: Clock
  /** Receives what an operator should see in the log; the facts contain no personal data. */
  readonly warn: (facts: Readonly<Record<string, unknown>>, text: string) => void
  /** Receives the same about answered scores that are or may be lost; by default `warn`. */
  readonly fail?: (facts: Readonly<Record<string, unknown>>, text: string) => void
  /** Called with an error that the callback of a request has thrown. */
  readonly onThrown: (error: unknown) => void
  /**
   * Time for which drained segments stay, so that they can be drained again after a failover that
   * lost commits; by default they go at once. They go earlier if `bytesMax` leaves no room.
   */
  readonly keepMs?: number
  /** Longest time that a response waits for the disk or the database; by default 10 s. */
  readonly answerDeadlineMs?: number
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
 * *Open*: it takes records, see `GroupCommit`, and gives them to the drain, those of ended
 * processes first. At its bound, and for a second after a failed write, see `DiskFaults`, it
 * refuses requests before they are scored. It never drops a record of an answered request.
 * *Closed*: records that are not drained stay for the next process.
 */
export class Spool implements ScoreLog, SpoolReader {
  private readonly options: SpoolOptions
  private readonly own: Segments
  /** Segments of ended processes first. */
  private readonly sources: Segments[]
  private readonly deadLetters: DeadLetters
  private readonly appender: Appender
  private readonly group: GroupCommit
  private readonly diskFaults: DiskFaults
  private readonly drainSource: SpoolSource
  private readonly tidying: Periodic
  private readonly listeners: (() => void)[] = []
  /** Requests whose response waits for the database, and whether the drain has quarantined them. */
  private readonly quarantinedById = new Map<string, boolean>()
  /** Bytes on disk after the last write or acknowledgement. */
  private bytes = 0
  private records = 0
  private oldestAtMs: number | null = null
  readonly faults: SpoolFaults
  /** Bytes of segments that are drained and kept. */
  private keptBytes = 0

  private constructor(options: SpoolOptions, own: Segments, leftovers: readonly Segments[]) {
    this.options = options
    this.own = own
    this.faults = new SpoolFaults(options.fail ?? options.warn)
    this.sources = [...leftovers, own]
    this.deadLetters = new DeadLetters(join(options.directory, REJECTED_DIRECTORY))
    const segmentBytesMax = Math.min(SEGMENT_BYTES_MAX, Math.ceil(options.bytesMax / SEGMENTS_MIN))
    this.appender = new Appender(own, segmentBytesMax)
    this.group = new GroupCommit({
      appender: this.appender,
      durability: options.durability,
      onAppended: (records) => this.noteAppended(records),
      onFailed: (error, bytes) => this.noteFailed(error, bytes),
      onThrown: options.onThrown,
      ...(options.answerDeadlineMs !== undefined && { deadlineMs: options.answerDeadlineMs }),
    })
    this.diskFaults = new DiskFaults({
      clock: options.clock,
      warn: options.warn,
      probe: (bytes) => this.appender.probe(bytes),
    })
    this.drainSource = new SpoolSource({
      sources: this.sources,
      deadLetters: this.deadLetters,
      inUse: () => this.appender.inUse,
      keeping: () => this.computeKeeping(),
      onLost: (damage) => this.faults.noteDamages([damage]),
    })
    const { keepMs = 0, onThrown } = options
    const everyMs = Math.min(keepMs, TIDY_EVERY_MS)
    this.tidying = new Periodic({ round: () => this.tidyAll(), everyMs, onFailed: onThrown })
    if (keepMs > 0) this.tidying.start()
    for (const leftover of leftovers) this.adopt(leftover)
    this.countBytes()
  }

  /**
   * Creates the directory of this process, and takes over those of ended processes.
   *
   * @throws SpoolOpenError
   */
  static async open(options: SpoolOptions): Promise<Spool> {
    const { directory, name } = options
    const opened: Segments[] = []
    // While one process scans the directories, no other creates or removes one.
    const scanLock = await waitForDirectory(directory).catch((cause) => {
      throw openError(directory, cause)
    })
    try {
      freeReserve(directory)
      for (const entry of readdirSync(directory, { withFileTypes: true })) {
        if (!entry.isDirectory() || entry.name === REJECTED_DIRECTORY) continue
        const leftover = Segments.open(join(directory, entry.name))
        if (leftover !== null) opened.push(leftover)
      }
      const leftovers = opened.toSorted((a, b) => (a.name < b.name ? -1 : 1))
      const own = Segments.open(join(directory, name))
      if (own === null) throw new Error(`${name} is taken`)
      opened.push(own)
      keepReserve(directory)
      scanLock.close()
      const spool = new Spool(options, own, leftovers)
      for (const leftover of leftovers) await spool.drainSource.tidy(leftover)
      return spool
    } catch (cause) {
      for (const segments of opened) segments.close()
      throw openError(directory, cause)
    } finally {
      scanLock.close()
    }
  }

  append<T>(facts: LoggedFacts, score: Score<T>, onOutcome: OnOutcome<T>): boolean {
    this.requireRoom()
    const { writer } = this.group
    writer.begin(facts.head, facts)
    const scored = score(writer)
    if (scored === null) return false
    this.add(facts.requestId, scored.facts, (failure) => onOutcome(failure ?? scored.response))
    return true
  }

  /** @throws AppError `unavailable` */
  private requireRoom(): void {
    const { bytesMax } = this.options
    const gatheringBytes = this.group.writer.endedBytes
    if (this.bytes + gatheringBytes >= bytesMax || gatheringBytes >= GATHERING_BYTES_MAX) {
      throw new AppError('unavailable', 'the score log is full until the database stores more')
    }
    if (this.group.isSilent) throw new AppError('unavailable', 'the disk does not answer')
    if (this.diskFaults.isPausing) {
      throw new AppError('unavailable', "the score can't be logged now")
    }
  }

  private add(requestId: string, facts: ResponseFacts, onLogged: OnLogged): void {
    if (this.options.durability !== 'database') {
      this.group.add(facts, onLogged)
      return
    }
    this.group.add(facts, (failure) => {
      const isQuarantined = this.quarantinedById.get(requestId) === true
      this.quarantinedById.delete(requestId)
      const refusal = isQuarantined
        ? new AppError('unavailable', 'the database did not take the score')
        : failure
      onLogged(refusal)
    })
    this.quarantinedById.set(requestId, false)
  }

  oldest(): SegmentRange | null {
    return this.drainSource.oldest()
  }

  /** All ranges with records that are not drained, oldest first. */
  undrained(): SegmentRange[] {
    return this.drainSource.undrained()
  }

  async readBatch(maxRecords: number, maxBytes: number): Promise<DrainBatch> {
    const batch = await this.drainSource.readBatch(maxRecords, maxBytes, (token) =>
      this.note(token),
    )
    if (batch.rejected.length > 0) {
      const reasons = [...new Set(batch.rejected.map(({ reason }) => reason))]
      const facts = { rejected: batch.rejected.length, first: batch.rejected[0]?.position, reasons }
      this.faults.note(facts, 'unreadable records were set aside')
    }
    this.oldestAtMs = batch.records[0]?.scoredAtMs ?? null
    return batch
  }

  readBehind(token: DrainToken, maxRecords: number, maxBytes: number): Promise<RecordV4[]> {
    return this.drainSource.readBehind(token, maxRecords, maxBytes)
  }

  async acknowledge(token: DrainToken): Promise<void> {
    try {
      await this.drainSource.acknowledge(token)
    } finally {
      // The database has committed it, even if the cursor can't be written.
      this.note(token)
    }
    if (this.isDrained() && this.appender.closeIfLarge()) {
      await this.drainSource.tidy(this.own)
      this.countBytes()
    }
    if (this.keptBytes > 0 && this.computeKeeping().excessBytes > 0) await this.tidyAll()
  }

  positions(): ReadonlyMap<string, Cursor> {
    return new Map(this.sources.map(({ identity, storedCursor }) => [identity, storedCursor]))
  }

  async follow(spoolId: string, stored: Cursor): Promise<number> {
    const way = await this.drainSource.follow(spoolId, stored)
    if (way === null) return 0
    const { token, isBack, isWhole } = way
    if (isBack) {
      const facts = { directory: token.directory, from: stored }
      if (!isWhole) this.faults.noteLacking(facts)
      this.noteLost(token)
      return 0
    }
    this.note(token)
    return token.records
  }

  async quarantine(records: readonly RecordV4[], reason: string): Promise<void> {
    this.deadLetters.storeRecords(records, reason)
    const waiting = this.quarantinedById
    for (const { requestId: id } of records) if (waiting.has(id)) waiting.set(id, true)
  }

  /** Why scores are refused or will be; null if they are not. */
  get refusal(): string | null {
    if (this.bytes >= this.options.bytesMax) return 'full'
    if (this.group.isSilent) return 'the disk does not answer'
    return this.diskFaults.isFailing ? "can't be written to" : null
  }

  /** True if the disk takes records. */
  get isWritable(): boolean {
    return !this.diskFaults.isFailing && !this.group.isSilent
  }

  get stats(): SpoolStats {
    const { oldestAtMs } = this
    const oldestAgeMs =
      oldestAtMs === null ? null : Math.max(0, this.options.clock.epochMs() - oldestAtMs)
    const { overdue: overdueRequests } = this.group
    const { bytesMax } = this.options
    return { bytes: this.bytes, bytesMax, records: this.records, oldestAgeMs, overdueRequests }
  }

  onAppend(listener: () => void): void {
    this.listeners.push(listener)
  }

  /**
   * Syncs all records to the disk. Call it when no request is in flight and the drain has ended.
   */
  async close(): Promise<void> {
    await this.tidying.close()
    await this.group.flush()
    await this.diskFaults.close()
    await this.appender.sync()
    this.appender.closeSegment()
    await this.drainSource.tidy(this.own)
    await this.drainSource.close()
    const scanLock = await waitForDirectory(this.options.directory)
    for (const source of this.sources) source.close()
    scanLock.close()
  }

  private adopt(leftover: Segments): void {
    const { clock, warn } = this.options
    this.faults.noteDamages(leftover.damages)
    const setAside = (text: string) => (place: string, bytes: Buffer) => {
      this.deadLetters.store(place, bytes, text)
      this.faults.note({ place, bytes: bytes.length }, text)
    }
    leftover.giveAway(setAside(FOREIGN))
    const { records } = leftover.inspect(setAside(TORN))
    this.records += records
    if (records === 0) return
    this.oldestAtMs ??= clock.epochMs()
    const facts = { directory: leftover.name, records, bytes: leftover.bytes }
    warn(facts, 'records of a process that has ended will be drained')
  }

  private note({ directory, segment, offset, records, newestAtMs }: DrainToken): void {
    if (directory === this.own.name) this.group.drained(segment, offset)
    this.records = Math.max(0, this.records - records)
    // Otherwise the age is that of the drained record, until the next batch is read.
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
    this.diskFaults.noteWritten()
    this.countBytes()
    for (const listener of this.listeners) listener()
  }

  private noteFailed(error: unknown, bytes: number): void {
    this.diskFaults.noteFailed(error, bytes)
    // The segment was closed. If all of it is drained, no later acknowledgement removes it.
    void this.tidyAll()
  }

  private countBytes(): void {
    const bytes = this.sources.reduce((sum, source) => sum + source.bytes, 0)
    this.bytes = this.sources.reduce(
      (sum, source) => sum + source.bytesInUse(this.findInUse(source)),
      0,
    )
    this.keptBytes = bytes - this.bytes
  }

  private findInUse(source: Segments): number | null {
    return source === this.own ? this.appender.inUse : null
  }

  /**
   * Removes kept segments before requests are refused, and all of them on a disk that takes no
   * writes, which can be full of them.
   */
  private computeKeeping(): Keeping {
    const { bytesMax, keepMs = 0, clock } = this.options
    const excessBytes = this.diskFaults.isFailing
      ? Number.POSITIVE_INFINITY
      : this.bytes + this.keptBytes - bytesMax * KEPT_SHARE_MAX
    return { keepMs, nowMs: clock.monotonicMs(), excessBytes }
  }

  /** Records that the database has lost wait again. */
  private noteLost({ directory, segment, offset, records }: DrainToken): void {
    this.countBytes()
    if (records === 0) return
    this.records += records
    this.oldestAtMs ??= this.options.clock.epochMs()
    const facts = { directory, position: { segment, offset }, records }
    this.options.warn(facts, 'the database has lost records, which are drained again')
  }

  private async tidyAll(): Promise<void> {
    try {
      for (const source of [...this.sources]) await this.drainSource.tidy(source)
      this.countBytes()
    } catch (error) {
      this.options.onThrown(error)
    }
  }
}
