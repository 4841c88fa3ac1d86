import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../clock.ts'
import { type Suspect, storeAllBut } from './bisect.ts'
import type { Carrier } from './carrier.ts'
import { failureOf, reasonOf } from './failures.ts'
import type { DrainBatch, SpoolReader } from './reader.ts'
import type { ScoreRecord } from './record.ts'
import type { ServedResults } from './rollup.ts'
import { servedOf } from './served.ts'

/** A record with what its rollups need. */
export interface LoggedRecord {
  readonly record: ScoreRecord
  readonly served: ServedResults
}

/** What was not in the log before. */
export interface Appended {
  readonly records: number
  /** Of all models. */
  readonly results: number
}

/** What the drain needs of the database. */
export interface ScoreLogStore {
  /** Adds records to the log, and those that were not in it to the rollups, in one transaction. */
  append(records: readonly LoggedRecord[]): Promise<Appended>
}

/** Told of what operators must know. */
export interface DrainLog {
  /** The database takes nothing: told of the first failure, and once a minute of those that follow. */
  failing(facts: FailingFacts, error: unknown): void
  /** It takes records again. */
  recovered(facts: FailingFacts): void
  /** A record that can't be stored was set aside in the spool's directory. */
  setAside(facts: { readonly requestId: string; readonly reason: string }): void
}

export interface FailingFacts {
  readonly failures: number
  readonly waitingRecords: number
}

export interface DrainOptions {
  readonly spool: SpoolReader
  readonly store: ScoreLogStore
  /** Takes the usual batches off this thread; null where there is none. */
  readonly carrier: Carrier | null
  readonly clock: Clock
  readonly log: DrainLog
  /**
   * How long records gather, so that a transaction serves many; 0 where answers wait for it. After a batch that
   * took long, as one of many deployments with a row for each in the rollups does, up to four times as long.
   */
  readonly gatherMs: number
  /** Bounds of a batch, which is one transaction. */
  readonly batchRecordsMax: number
  readonly batchBytesMax: number
}

/** What the drain has done since the start of the process. */
export interface DrainStats {
  readonly drainedRecords: number
  /** Of all models. */
  readonly drainedResults: number
  /** Records that were in the log when they came. */
  readonly replayedRecords: number
  readonly setAsideRecords: number
  /** Batches that failed as a whole. */
  readonly failedBatches: number
  /** Batches that the carrier left to this thread. */
  readonly handedBackBatches: number
  /** Age of the oldest record that is not in the database; null when all are. */
  readonly lagMs: number | null
}

type BatchEnd = 'empty' | 'partial' | 'full' | 'failed'

const GATHER_FACTOR_MAX = 4
const REST_SHARE = 4
const BACKOFF_MS_MIN = 100
const BACKOFF_MS_MAX = 5_000
const TELL_EVERY_MS = 60_000
/** Batches in which a record must have failed alone, while others were stored, to be given up. */
const UNCLEAR_FAILURES_MAX = 3

/**
 * Carries records from the spool into the database, exactly once: a batch is acknowledged after its commit,
 * and one that comes again meets its own rows.
 *
 * States: *asleep* until records are appended; *gathering*, for `gatherMs`; *draining*, one batch at a time,
 * until the spool is empty; *backing off* after a failure, twice as long each time up to 5 s; *ending* from
 * `close` on, while it drains what is left; *ended*. What is not drained stays in the spool.
 *
 * A carrier, where there is one, stores what is as it should be. Whatever else comes is seen to here: a batch
 * that the carrier did not store is drained as if there was none.
 *
 * A record that the database refuses is set aside and told of, and the others go on; one that fails for
 * reasons that may not be its own only after it has failed alone in several batches.
 */
export class Drain {
  private readonly options: DrainOptions
  private readonly counts = {
    drainedRecords: 0,
    drainedResults: 0,
    replayedRecords: 0,
    setAsideRecords: 0,
    failedBatches: 0,
    handedBackBatches: 0,
  }
  private readonly unclearFailures = new Map<string, number>()
  private failuresInRow = 0
  private toldAtMs = Number.NEGATIVE_INFINITY
  private running: Promise<void> | null = null
  private isWanted = false
  private isEnded = false
  private readonly ending = new AbortController()

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
    this.ending.abort()
    this.wake()
    const deadline = new AbortController()
    const overdue = delay(deadlineMs, undefined, { signal: deadline.signal }).then(
      () => this.end(),
      () => undefined,
    )
    while (!this.isEnded && this.running !== null) await Promise.race([this.running, overdue])
    deadline.abort()
    this.end()
  }

  private end(): void {
    this.isEnded = true
  }

  private wake(): void {
    this.isWanted = true
    if (this.isEnded || this.running !== null) return
    this.running = this.run().finally(() => {
      this.running = null
      // Records were appended after the last look and before the end of the run.
      if (this.isWanted) this.wake()
    })
  }

  private async run(): Promise<void> {
    await this.pauseFor(this.options.gatherMs)
    while (this.isWanted && !this.isEnded) {
      this.isWanted = false
      const startedAtMs = this.options.clock.monotonicMs()
      const end = await this.drainBatch()
      if (end === 'empty') continue
      this.isWanted = true
      if (end === 'partial') await this.pauseFor(this.restMs(startedAtMs))
      else if (end === 'failed') {
        if (this.ending.signal.aborted) this.end()
        await this.pauseFor(this.backoffMs())
      }
    }
  }

  /** Such that the drain rests for most of the time, and stats are never more than a second behind. */
  private restMs(startedAtMs: number): number {
    const { gatherMs, clock } = this.options
    const batchMs = clock.monotonicMs() - startedAtMs
    return Math.min(GATHER_FACTOR_MAX * gatherMs, Math.max(gatherMs, REST_SHARE * batchMs))
  }

  /** One batch; never rejects. A partial one was less than could be taken. */
  private async drainBatch(): Promise<BatchEnd> {
    const { spool, batchRecordsMax, batchBytesMax } = this.options
    try {
      const carried = await this.carry()
      if (carried !== null) return carried
      const batch = await spool.readBatch(batchRecordsMax, batchBytesMax)
      this.counts.setAsideRecords += batch.rejected.length
      if (batch.records.length === 0 && batch.rejected.length === 0) return 'empty'
      await this.store(batch)
      // The spool may be closed by now; the next start meets the rows of this batch.
      if (this.isEnded) return 'failed'
      await spool.acknowledge(batch.token)
      this.noteSuccess()
      const bytes = batch.records.reduce((sum, { payload }) => sum + payload.length, 0)
      const isFull = batch.records.length >= batchRecordsMax || bytes >= batchBytesMax / 2
      return isFull ? 'full' : 'partial'
    } catch (error) {
      this.noteFailure(error)
      return 'failed'
    }
  }

  /** @returns null for what this thread has to see to itself */
  private async carry(): Promise<BatchEnd | null> {
    const { spool, carrier } = this.options
    const stretch = spool.oldest()
    // While nothing can be stored one attempt at a time is enough.
    if (carrier === null || stretch === null || this.failuresInRow > 0) return null
    const carried = await carrier.carry(stretch)
    if (carried === null) {
      this.counts.handedBackBatches++
      return null
    }
    if (this.isEnded) return 'failed'
    const { directory, segment } = stretch
    const { end: offset, records, newestAtMs } = carried
    await spool.acknowledge({ directory, segment, offset, records, newestAtMs })
    this.counts.drainedRecords += carried.addedRecords
    this.counts.drainedResults += carried.addedResults
    this.counts.replayedRecords += records - carried.addedRecords
    return carried.isFull ? 'full' : 'partial'
  }

  private async store({ records }: DrainBatch): Promise<void> {
    const logged: LoggedRecord[] = []
    for (const record of records) {
      try {
        logged.push({ record, served: servedOf(record) })
      } catch (error) {
        await this.setAside(record, error)
      }
    }
    if (logged.length === 0) return
    const suspects = await storeAllBut(logged, (part) => this.append(part), failureOf)
    for (const suspect of suspects) await this.giveUp(suspect)
  }

  private async append(part: readonly LoggedRecord[]): Promise<void> {
    const added = await this.options.store.append(part)
    this.counts.drainedRecords += added.records
    this.counts.drainedResults += added.results
    this.counts.replayedRecords += part.length - added.records
  }

  /** @throws the error that the record failed with, while it may be the database's fault */
  private async giveUp({ record, error, failure }: Suspect<LoggedRecord>): Promise<void> {
    const { requestId } = record.record
    const failures = (this.unclearFailures.get(requestId) ?? 0) + 1
    if (failure === 'unclear' && failures < UNCLEAR_FAILURES_MAX) {
      this.unclearFailures.set(requestId, failures)
      throw error
    }
    this.unclearFailures.delete(requestId)
    await this.setAside(record.record, error)
  }

  private async setAside(record: ScoreRecord, error: unknown): Promise<void> {
    const reason = reasonOf(error)
    await this.options.spool.setAside(record, reason)
    this.counts.setAsideRecords++
    this.options.log.setAside({ requestId: record.requestId, reason })
  }

  private noteSuccess(): void {
    const facts = this.failingFacts()
    this.failuresInRow = 0
    this.toldAtMs = Number.NEGATIVE_INFINITY
    if (facts.failures > 0) this.options.log.recovered(facts)
  }

  private noteFailure(error: unknown): void {
    this.counts.failedBatches++
    this.failuresInRow++
    const nowMs = this.options.clock.monotonicMs()
    if (nowMs - this.toldAtMs < TELL_EVERY_MS) return
    this.toldAtMs = nowMs
    this.options.log.failing(this.failingFacts(), error)
  }

  private failingFacts(): FailingFacts {
    return { failures: this.failuresInRow, waitingRecords: this.options.spool.stats.records }
  }

  private backoffMs(): number {
    return Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** (this.failuresInRow - 1))
  }

  /** Ends early when the drain is to end. */
  private async pauseFor(ms: number): Promise<void> {
    if (ms === 0 || this.ending.signal.aborted) return
    await delay(ms, undefined, { signal: this.ending.signal, ref: false }).catch(() => undefined)
  }
}
