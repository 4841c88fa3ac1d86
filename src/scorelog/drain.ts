import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../clock.ts'
import { type Failure, type Suspect, storeAllBut } from './bisect.ts'
import type { DrainBatch, SpoolReader } from './reader.ts'
import type { ScoreRecord } from './record.ts'
import { type Served, servedOf } from './served.ts'

/** A record with what its rollups need. */
export interface LoggedRecord {
  readonly record: ScoreRecord
  readonly served: Served
}

/** What the drain needs of the database. */
export interface ScoreLogStore {
  /**
   * Adds records to the log, and those that were not in it to the rollups, in one transaction.
   *
   * @returns how many were not in it
   */
  append(records: readonly LoggedRecord[]): Promise<number>
}

/** Told of what operators must know. */
export interface DrainLog {
  /** The database takes nothing; told of the first failure, and of each further minute. */
  failing(facts: { readonly failures: number; readonly waitingRecords: number }, error: unknown): void
  recovered(facts: { readonly failures: number; readonly waitingRecords: number }): void
  /** A record that can't be stored lies in the spool's `rejected` directory. */
  setAside(requestId: string, error: unknown): void
}

export interface DrainOptions {
  readonly spool: SpoolReader
  readonly store: ScoreLogStore
  readonly judge: (error: unknown) => Failure
  readonly clock: Clock
  readonly log: DrainLog
  /** How long records may gather before they are stored; 0 where answers wait for it. */
  readonly gatherMs: number
  /** Bounds of a batch, which is one transaction. */
  readonly batchRecordsMax: number
  readonly batchBytesMax: number
}

/** What the drain has done since the start of the process. */
export interface DrainStats {
  readonly drainedRecords: number
  readonly drainedResults: number
  /** Records that were in the log already when they came. */
  readonly replayedRecords: number
  readonly setAsideRecords: number
  /** Attempts that the database failed. */
  readonly failures: number
  /** Age of the oldest record that is not in the database; null when all are. */
  readonly lagMs: number | null
}

const BACKOFF_MS_MIN = 100
const BACKOFF_MS_MAX = 5_000
const TELL_EVERY_MS = 60_000
/** Batches that a record must have failed in alone, while others were stored, to be given up. */
const UNCLEAR_FAILURES_MAX = 3

/**
 * Carries records from the spool into the database, exactly once: a batch is acknowledged after its commit,
 * and one that comes again meets its own rows.
 *
 * States: *asleep* until records are appended; *gathering* for `gatherMs`, so that a transaction serves many;
 * *draining*, one batch at a time, until the spool is empty; *backing off* after a failure, twice as long
 * each time up to 5 s; *ending* after `close`, when it drains what is left until its deadline; *ended*.
 * What is not drained stays in the spool.
 *
 * A record that the database refuses is set aside and told of, and the others go on; one that fails for
 * reasons that may not be its own only after it has failed alone in several batches.
 */
export class Drain {
  private readonly options: DrainOptions
  private readonly counts = { drainedRecords: 0, drainedResults: 0, replayedRecords: 0, setAsideRecords: 0, failures: 0 }
  private readonly unclearFailures = new Map<string, number>()
  private failuresInRow = 0
  private toldAtMs = Number.NEGATIVE_INFINITY
  private running: Promise<void> | null = null
  private isWanted = false
  private isEnding = false
  private isEnded = false
  /** Ends a pause early. */
  private pause = new AbortController()

  constructor(options: DrainOptions) {
    this.options = options
  }

  get stats(): DrainStats {
    return { ...this.counts, lagMs: this.options.spool.stats.oldestAgeMs }
  }

  /** Drains what the spool holds, and from then on what is appended. */
  start(): void {
    this.options.spool.onAppend(() => this.wake())
    this.wake()
  }

  /** Drains what it can until the deadline; a batch under way then may or may not be stored. */
  async close(deadlineMs: number): Promise<void> {
    this.isEnding = true
    this.pause.abort()
    this.wake()
    const deadline = delay(deadlineMs, undefined, { ref: false })
    await Promise.race([this.running, deadline])
    this.isEnded = true
    this.pause.abort()
  }

  private wake(): void {
    this.isWanted = true
    if (this.isEnded || this.running !== null) return
    this.running = this.run().finally(() => {
      this.running = null
      // Appended after the last look, before the end of the run.
      if (this.isWanted) this.wake()
    })
  }

  private async run(): Promise<void> {
    await this.pauseFor(this.options.gatherMs)
    while (this.isWanted && !this.isEnded) {
      this.isWanted = false
      const state = await this.drainBatch()
      if (state === 'empty') continue
      this.isWanted = true
      if (state === 'failed') await this.pauseFor(this.backoffMs())
      else if (state === 'partial') await this.pauseFor(this.options.gatherMs)
    }
  }

  /** One batch; never rejects. A partial one was all that there was. */
  private async drainBatch(): Promise<'empty' | 'partial' | 'full' | 'failed'> {
    const { spool, batchRecordsMax, batchBytesMax } = this.options
    try {
      const batch = await spool.readBatch(batchRecordsMax, batchBytesMax)
      const isEmpty = batch.records.length === 0 && batch.rejected.length === 0
      if (isEmpty) return 'empty'
      await this.store(batch)
      await spool.acknowledge(batch.token)
      this.noteSuccess()
      return spool.stats.records > 0 ? 'full' : 'partial'
    } catch (error) {
      this.noteFailure(error)
      return 'failed'
    }
  }

  private async store({ records, rejected }: DrainBatch): Promise<void> {
    this.counts.setAsideRecords += rejected.length
    const logged: LoggedRecord[] = []
    for (const record of records) {
      try {
        logged.push({ record, served: servedOf(record) })
      } catch (error) {
        await this.setAside(record, error)
      }
    }
    if (logged.length === 0) return
    const suspects = await storeAllBut(logged, (part) => this.append(part), this.options.judge)
    for (const suspect of suspects) await this.giveUp(suspect)
  }

  private async append(part: readonly LoggedRecord[]): Promise<void> {
    const added = await this.options.store.append(part)
    const results = part.reduce((sum, { served, record }) => sum + served.scores.length * record.models.length, 0)
    this.counts.drainedRecords += added
    this.counts.replayedRecords += part.length - added
    // Replays are rare, and come as whole batches.
    if (added > 0) this.counts.drainedResults += results
  }

  /** @throws the record's error, while it may still be the database's fault */
  private async giveUp({ record: { record }, error, failure }: Suspect<LoggedRecord>): Promise<void> {
    const failures = (this.unclearFailures.get(record.requestId) ?? 0) + 1
    if (failure === 'unclear' && failures < UNCLEAR_FAILURES_MAX) {
      this.unclearFailures.set(record.requestId, failures)
      throw error
    }
    this.unclearFailures.delete(record.requestId)
    await this.setAside(record, error)
  }

  private async setAside(record: ScoreRecord, error: unknown): Promise<void> {
    const code = codeOf(error)
    await this.options.spool.setAside(record, code ?? 'it is not what an answered request leaves')
    this.counts.setAsideRecords++
    this.options.log.setAside(record.requestId, error)
  }

  private noteSuccess(): void {
    const failures = this.failuresInRow
    this.failuresInRow = 0
    this.toldAtMs = Number.NEGATIVE_INFINITY
    if (failures > 0) this.options.log.recovered({ failures, ...this.waiting() })
  }

  private noteFailure(error: unknown): void {
    this.counts.failures++
    this.failuresInRow++
    const nowMs = this.options.clock.monotonicMs()
    if (nowMs - this.toldAtMs < TELL_EVERY_MS) return
    this.toldAtMs = nowMs
    this.options.log.failing({ failures: this.failuresInRow, ...this.waiting() }, error)
  }

  private waiting(): { waitingRecords: number } {
    return { waitingRecords: this.options.spool.stats.records }
  }

  private backoffMs(): number {
    return Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** (this.failuresInRow - 1))
  }

  /** A pause that `close` ends; while ending, only failures are a reason to pause at all. */
  private async pauseFor(ms: number): Promise<void> {
    ...
  }
}
