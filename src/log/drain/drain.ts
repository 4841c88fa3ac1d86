import { setTimeout as delay } from 'node:timers/promises'
import { backOffMs } from '../../platform/back-off.ts'
import { treeFault, UngrownTrees } from '../proof/log-tree.ts'
import { isSound, type RecordV4, requireSound } from '../record/record-v4.ts'
import { type Failure, type Suspect, storeAllBut } from '../spool/bisect.ts'
import type { DrainBatch, DrainToken } from '../spool/reader.ts'
import { type Cursor, compareCursors } from '../spool/spool-papers.ts'
import {
  type DrainOptions,
  type DrainStats,
  type FailingFacts,
  splitByTeam,
} from './drain-options.ts'
import { classifyFailure, findReason, isLost } from './failures.ts'
import { CursorMovedError } from './spool-cursors.ts'

type BatchEnd = 'empty' | 'partial' | 'full' | 'failed'

const GATHER_FACTOR_MAX = 4
const REST_SHARE = 4
const PAUSES = { minMs: 100, maxMs: 5_000 }
const SHARES = 8
const LOG_EVERY_MS = 60_000
/** Interval at which positions are compared: drained segments are kept for minutes. */
const CHECK_EVERY_MS = 30_000
/** A record is quarantined after it failed alone in this many batches while others were stored. */
const UNCLEAR_FAILURES_MAX = 3
/** After this many lost batches in a row, one of their records may be the cause. */
const LOST_IN_ROW_MAX = 2
/** Bounds of the later records that are stored before a suspect is quarantined. */
const WITNESSES = { recordsMax: 1_000, bytesMax: 1024 * 1024 }

/**
 * Moves records from the spool into the database, exactly once: the transaction of a batch moves
 * the spool's cursor, and only from where the batch begins. Where the database is further, the
 * drain skips what it has; where it is behind, as after a failover that lost commits, the drain
 * stores again what the spool still keeps. It compares the positions at the start, after each
 * failure, and every half minute.
 *
 * States: *asleep* until records are appended; *gathering*, for `gatherMs`; *draining*, one batch
 * at a time, until the spool is empty; *backing off* after a failure, twice as long each time up to
 * 5 s; *ending* from `close` on, while it drains the rest; *ended*. Records that are not drained
 * stay in the spool.
 *
 * The drain thread, if there is one, stores valid records. This class handles everything else: it
 * drains each batch that the thread did not store.
 *
 * A record that the database rejects is quarantined and logged, and the others go on. A failure can
 * have another cause, such as a deadline or a lost connection. Such a record is quarantined only
 * after it failed alone in several batches while others were stored. If all records fail, as behind
 * a lock, none is quarantined. Attempts to find such a record are taken back: the cursor only moves
 * over a whole batch, once all of its records are stored or quarantined.
 */
export class Drain {
  private readonly options: DrainOptions
  private readonly counts = {
    drainedRecords: 0,
    drainedResults: 0,
    replayedRecords: 0,
    quarantinedRecords: 0,
    failedBatches: 0,
    handedBackBatches: 0,
  }
  private readonly unclearFailures = new Map<string, number>()
  private failuresInRow = 0
  /** Eighths of the bounds that a batch uses: as much as the database writes in time. */
  private shares = SHARES
  private lostInRow = 0
  /** True if the database has stored records of the last batch, or after it. */
  private isTaking = false
  private loggedAtMs = Number.NEGATIVE_INFINITY
  private running: Promise<void> | null = null
  private isWanted = false
  private isEnded = false
  /** True if the positions of the spool and the database have to be compared. */
  private isCheckDue = true
  private checking: NodeJS.Timeout | undefined
  /** Records of the current batch that are quarantined. */
  private readonly quarantined = new Set<string>()
  private readonly ending = new AbortController()

  constructor(options: DrainOptions) {
    this.options = options
  }

  get stats(): DrainStats {
    return { ...this.counts, lagMs: this.options.spool.stats.oldestAgeMs }
  }

  /**
   * Drains the spool, then each appended record. Resolves when the positions were compared, or could
   * not be: until then what a restored database lacks seems to be nowhere. Never rejects.
   */
  start(): Promise<void> {
    this.options.spool.onAppend(() => this.wake())
    const check = () => {
      this.isCheckDue = true
      this.wake()
    }
    this.checking = setInterval(check, CHECK_EVERY_MS).unref()
    // The first batch tries again, and logs the failure.
    const compared = this.comparePositions().catch(() => undefined)
    this.wake(compared)
    return compared
  }

  /**
   * Drains until the spool is empty or the deadline; a batch running then may or may not be stored.
   */
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
    clearInterval(this.checking)
    this.isEnded = true
  }

  private wake(after = Promise.resolve()): void {
    this.isWanted = true
    if (this.isEnded || this.running !== null) return
    const run = after.then(() => this.run())
    this.running = run.finally(() => {
      this.running = null
      // Records were appended between the last check and the end of the run.
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

  /** Lets the drain rest most of the time, and statistics lag at most a second. */
  private restMs(startedAtMs: number): number {
    const { gatherMs, clock } = this.options
    const batchMs = clock.monotonicMs() - startedAtMs
    return Math.min(GATHER_FACTOR_MAX * gatherMs, Math.max(gatherMs, REST_SHARE * batchMs))
  }

  /** Drains one batch; never rejects. A partial batch is below its bounds. */
  private async drainBatch(): Promise<BatchEnd> {
    const { spool, batchRecordsMax, batchBytesMax } = this.options
    this.isTaking = false
    try {
      if (this.isCheckDue) await this.comparePositions()
      const drained = await this.drainOnThread()
      if (drained !== null) return drained
      const recordsMax = Math.ceil((batchRecordsMax * this.shares) / SHARES)
      const batch = await spool.readBatch(recordsMax, batchBytesMax)
      if (batch.records.length === 0 && batch.rejected.length === 0) return 'empty'
      // Damaged ranges alone move no cursor.
      if (batch.records.length > 0) await this.store(batch)
      this.counts.quarantinedRecords += batch.rejected.length
      // The spool can be closed by now; the next start finds the rows of this batch.
      if (this.isEnded) return 'failed'
      await spool.acknowledge(batch.token)
      this.quarantined.clear()
      this.shares = Math.min(SHARES, this.shares + 1)
      this.noteSuccess()
      const bytes = batch.records.reduce((sum, { payload }) => sum + payload.length, 0)
      const isFull = batch.records.length >= recordsMax || bytes >= batchBytesMax / 2
      return isFull ? 'full' : 'partial'
    } catch (error) {
      return this.followed(error)
    }
  }

  /** Asks the database how far the spools are drained. */
  private async comparePositions(): Promise<void> {
    const { spool, store } = this.options
    const positions = spool.positions()
    if (positions.size > 0) {
      const stored = await store.cursors([...positions.keys()])
      for (const [spoolId, position] of positions) {
        const at = stored.get(spoolId)
        if (at !== undefined && compareCursors(at, position) !== 0) await this.follow(spoolId, at)
      }
    }
    this.isCheckDue = false
  }

  private async follow(spoolId: string, stored: Cursor): Promise<void> {
    if (this.isEnded) return
    this.counts.replayedRecords += await this.options.spool.follow(spoolId, stored)
  }

  /** Tells how a batch ended that threw an error. */
  private async followed(error: unknown): Promise<BatchEnd> {
    if (!(error instanceof CursorMovedError)) {
      this.isCheckDue = true
      this.noteFailure(error)
      return 'failed'
    }
    const { spoolId } = error
    try {
      const stored = error.stored ?? (await this.options.store.cursors([spoolId])).get(spoolId)
      if (stored !== undefined) await this.follow(spoolId, stored)
      this.noteSuccess()
      return 'full'
    } catch (cause) {
      this.noteFailure(cause)
      return 'failed'
    }
  }

  /** @returns null if this thread has to drain the batch */
  private async drainOnThread(): Promise<BatchEnd | null> {
    const { spool, thread } = this.options
    const range = spool.oldest()
    // While nothing can be stored, one attempt at a time is enough.
    if (thread === null || range === null || this.failuresInRow > 0) return null
    const drained = await thread.drainRange(range)
    if (drained === null) {
      this.counts.handedBackBatches++
      return null
    }
    if (this.isEnded) return 'failed'
    const { directory, spoolId, from, segment } = range
    const { end: offset, records, newestAtMs } = drained
    await spool.acknowledge({ directory, spoolId, from, segment, offset, records, newestAtMs })
    this.counts.drainedRecords += drained.addedRecords
    this.counts.drainedResults += drained.addedResults
    this.counts.replayedRecords += records - drained.addedRecords
    return drained.isFull ? 'full' : 'partial'
  }

  private async store({ records, token }: DrainBatch): Promise<void> {
    const logged: RecordV4[] = []
    for (const record of records) {
      try {
        requireSound(record)
        logged.push(record)
      } catch (error) {
        await this.quarantine(record, error)
      }
    }
    try {
      await this.append(logged, token)
    } catch (error) {
      if (error instanceof UngrownTrees) {
        const { held, others } = splitByTeam(logged, error.teamIds)
        for (const part of held) await this.setAside(part.records, treeFault(part.teamId))
        for (const part of held) this.options.log.held(part)
        return this.store({ records: others, rejected: [], token })
      }
      const isLostUnclear = logged.length === 1 || this.lostInRow >= LOST_IN_ROW_MAX
      const judge = (cause: unknown) => classifyFailure(cause, isLostUnclear)
      if (error instanceof CursorMovedError || judge(error) === 'database') throw error
      const suspects = await this.findSuspects(logged, token, judge)
      // Its parts were taken: the whole may be too much at once.
      if (suspects.length === 0) this.shares = Math.max(1, this.shares >>> 1)
      await this.storeOthersThan(suspects, logged, token)
    }
  }

  /** Tries parts of a batch, and takes back what it stored. */
  private findSuspects(
    logged: readonly RecordV4[],
    token: DrainToken,
    judge: (error: unknown) => Failure,
  ): Promise<Suspect<RecordV4>[]> {
    const probe = async (part: readonly RecordV4[]) => {
      await this.options.store.probe(part)
      this.isTaking = true
    }
    return storeAllBut(logged, probe, judge, () => this.tryOthers(logged, token))
  }

  /** Quarantines before the cursor moves: a process that ends between the two loses nothing. */
  private async storeOthersThan(
    suspects: readonly Suspect<RecordV4>[],
    logged: readonly RecordV4[],
    token: DrainToken,
  ): Promise<void> {
    this.throwIfTooEarly(suspects)
    for (const { record, error } of suspects) await this.quarantine(record, error)
    const isSuspect = new Set(suspects.map(({ record }) => record))
    await this.append(
      logged.filter((record) => !isSuspect.has(record)),
      token,
    )
  }

  /** Tells whether the database takes records after a batch. */
  private async tryOthers(batch: readonly RecordV4[], token: DrainToken): Promise<boolean> {
    const { recordsMax, bytesMax } = WITNESSES
    const behind = await this.options.spool.readBehind(token, recordsMax, bytesMax)
    const others = behind.filter(isSound)
    // The first records of the batch were tried alone: the last one is another.
    if (others.length === 0 && batch.length > 2) others.push(...batch.slice(-1))
    if (others.length === 0) return false
    return this.options.store.probe(others).then(
      () => true,
      () => false,
    )
  }

  private async append(part: readonly RecordV4[], token: DrainToken): Promise<void> {
    const { spoolId, from, segment, offset } = token
    const position = { spoolId, from, to: { segment, offset } }
    const added = await this.options.store.append(part, position)
    this.isTaking = true
    this.counts.drainedRecords += added.records
    this.counts.drainedResults += added.results
    this.counts.replayedRecords += part.length - added.records
  }

  /** @throws the error of a record while the database may be the cause */
  private throwIfTooEarly(suspects: readonly Suspect<RecordV4>[]): void {
    const early: unknown[] = []
    for (const { record, error, failure } of suspects) {
      if (failure !== 'unclear') continue
      const { requestId } = record
      const failures = (this.unclearFailures.get(requestId) ?? 0) + 1
      this.unclearFailures.set(requestId, failures)
      if (failures < UNCLEAR_FAILURES_MAX) early.push(error)
    }
    if (early.length > 0) throw early[0]
  }

  private async quarantine(record: RecordV4, error: unknown): Promise<void> {
    const reason = findReason(error)
    const added = await this.setAside([record], reason)
    if (added > 0) this.options.log.quarantine({ requestId: record.requestId, reason })
  }

  /** A repeated batch sets records aside again. @returns number of new ones */
  private async setAside(records: readonly RecordV4[], reason: string): Promise<number> {
    await this.options.spool.quarantine(records, reason)
    const before = this.quarantined.size
    for (const { requestId } of records) this.quarantined.add(requestId)
    const added = this.quarantined.size - before
    this.counts.quarantinedRecords += added
    return added
  }

  private noteSuccess(): void {
    const facts = this.failingFacts()
    this.failuresInRow = 0
    this.lostInRow = 0
    this.unclearFailures.clear()
    this.loggedAtMs = Number.NEGATIVE_INFINITY
    if (facts.failures > 0) this.options.log.recovered(facts)
  }

  private noteFailure(error: unknown): void {
    this.counts.failedBatches++
    this.failuresInRow++
    this.lostInRow = isLost(error) ? this.lostInRow + 1 : 0
    const nowMs = this.options.clock.monotonicMs()
    if (nowMs - this.loggedAtMs < LOG_EVERY_MS) return
    this.loggedAtMs = nowMs
    this.options.log.failing(this.failingFacts(), error)
  }

  private failingFacts(): FailingFacts {
    return { failures: this.failuresInRow, waitingRecords: this.options.spool.stats.records }
  }

  private backoffMs(): number {
    // The database is available: one record delays the others.
    if (this.isTaking) return PAUSES.minMs
    return backOffMs(PAUSES, this.failuresInRow - 1)
  }

  /** Ends early when the drain closes. */
  private async pauseFor(ms: number): Promise<void> {
    if (ms === 0 || this.ending.signal.aborted) return
    await delay(ms, undefined, { signal: this.ending.signal, ref: false }).catch(() => undefined)
  }
}
