import { setTimeout as delay } from 'node:timers/promises'
import { AppError } from '../../errors.ts'
import { backOffMs } from '../../platform/back-off.ts'
import type { Clock } from '../../platform/clock.ts'
import type { SharedClock } from '../../platform/db/database-clock.ts'
import { ObjectStoreError } from '../../platform/object-store/object-store.ts'
import { Periodic } from '../../platform/periodic.ts'
import type { StoredBlock } from '../blocks/stored-block.ts'
import { SPAN_MS, spanStart } from '../rollups/spans.ts'
import { type ClosedDay, type DayBlock, DayLockedError, type DayStore } from './day-store.ts'
import type { FileWriter } from './file-writer.ts'
import { type ArchiveIdentity, ForeignArchiveError } from './identity.ts'
import { type ArchiveLease, type HeldLease, LeaseLostError, ROUND } from './lease.ts'
import type { LeftoverStore } from './leftover-store.ts'
import type { ArchiveFacts, ManifestStore, NewFile } from './manifest-store.ts'
import type { Tidier } from './tidier.ts'
import { dayText, endOfDay } from './written-part.ts'

export interface ArchiverLog {
  archived(facts: { readonly day: string; readonly files: number; readonly rows: number }): void
  failed(error: unknown, day: string | null): void
  /** Another transaction, such as a dump, uses the table of a day: it moves later. */
  busy(day: string): void
}

interface ArchiverOptions {
  readonly lease: ArchiveLease
  readonly identity: ArchiveIdentity
  readonly days: DayStore
  readonly manifest: ManifestStore
  readonly leftovers: LeftoverStore
  readonly writer: FileWriter
  readonly tidier: Tidier
  /** Removes what killed processes have left in the store, at most once a day. */
  readonly sweep: () => Promise<void>
  readonly clock: Clock
  /** For what is deleted, and for which days are due. */
  readonly sharedClock: SharedClock
  /** Time after its end at which a day goes to the archive. */
  readonly afterMs: number
  readonly retentionDays: number
  readonly log: ArchiverLog
}

const EVERY_MS = 600_000
/** After a round in which something failed. */
const RETRY_MS = 120_000
/** A day waits this much longer for a spool that was drained on that day and not since. */
const SPOOL_WAIT_MS = SPAN_MS.day
/** Names of files are remembered for so long after the retention of their day. */
const NAMES_KEPT_MS = 31 * SPAN_MS.day
/** Waits before the switch of a day is tried again, whose table is in use. */
const SWITCH_WAITS_MS = [500, 2_000, 8_000, 16_000]
/** Blocks of one file, unless a single one has more: it is held in memory. */
const FILE_BYTES_MAX = 32 * 1024 * 1024
const FILE_APPLICANTS_MAX = 500_000
/** Blocks of one statement. */
const PORTION_BYTES = 4 * 1024 * 1024
const PORTION_BLOCKS_MAX = 512

/**
 * Moves closed days of the log to the archive, a round every ten minutes in one process at a time.
 *
 * A day is moved as a whole: all its files are written and read back, then one transaction puts
 * them in the manifest and takes the blocks out of the database. A round that dies before that
 * leaves objects that a later one uses or deletes; one that dies after it leaves a `_manifest.json`
 * that the next round writes. What is drained later for an archived day goes into a further file.
 * A day that fails is left alone for a while, and the others go on.
 */
export class Archiver {
  private readonly options: ArchiverOptions
  private readonly backOff = new BackOff()
  readonly periodic: Periodic
  /** Counts of this process since its start. */
  readonly counts = { days: 0, failures: 0 }
  /** When a round of this process last ended without a failure, in seconds since 1970; 0: never. */
  lastSuccessSec = 0
  /** Days and bytes in the archive, as of the last round of any process. */
  facts: ArchiveFacts = { days: 0, bytes: 0 }
  /** Days that are due and still in the database, as of the last round. */
  waitingDays = 0
  private sweptMs = Number.NEGATIVE_INFINITY

  constructor(options: ArchiverOptions) {
    this.options = options
    this.periodic = new Periodic({
      round: async () => {
        if (!(await this.run())) this.periodic.wake(RETRY_MS)
      },
      everyMs: EVERY_MS,
      onFailed: (error) => this.fail(error, null),
    })
  }

  /**
   * Does one round; never rejects.
   *
   * @returns whether nothing failed, and no failed day was left alone
   */
  async run(): Promise<boolean> {
    const { lease, manifest, clock } = this.options
    const failuresBefore = this.counts.failures
    let leftAlone: number | null = null
    try {
      leftAlone = await lease.hold(ROUND, (held) => this.runHeld(held))
      this.facts = await manifest.facts()
      this.waitingDays = (await this.dueDays()).length
    } catch (error) {
      this.fail(error, null)
    }
    const isDone = this.counts.failures === failuresBefore && (leftAlone ?? 0) === 0
    // Who had to leave the round to another process knows nothing of it.
    if (isDone && leftAlone !== null) this.lastSuccessSec = clock.epochMs() / 1_000
    return isDone
  }

  private get isClosed(): boolean {
    return this.periodic.signal.aborted
  }

  /** @returns days that are left alone because they failed before */
  private async runHeld(round: HeldLease): Promise<number> {
    const { lease, identity, writer, tidier, clock, log } = this.options
    await identity.confirm(round)
    await writer.clearDirectory()
    await this.expire(round)
    await tidier.tidyAll()
    let leftAlone = 0
    for (const day of await this.dueDays()) {
      if (this.isClosed) return leftAlone
      if (!this.backOff.isOver(day.dayMs, clock.epochMs())) {
        leftAlone++
        continue
      }
      round.check()
      try {
        // Where an erasure works on the day, the next round moves it.
        await lease.hold(dayText(day.dayMs), (held) => this.archive(held, day))
      } catch (error) {
        if (concernsAll(error)) throw error
        // The other days go on.
        this.backOff.failed(day.dayMs, clock.epochMs())
        if (!(error instanceof DayLockedError)) this.fail(error, dayText(day.dayMs))
        else {
          leftAlone++
          log.busy(dayText(day.dayMs))
        }
      }
    }
    await this.sweep()
    return leftAlone
  }

  /** Takes days beyond the retention out of the archive, each under its own lease. */
  private async expire(round: HeldLease): Promise<void> {
    const { lease, manifest, leftovers } = this.options
    const beforeMs = this.keptFromMs(await this.options.sharedClock.nowMs())
    for (const dayMs of await manifest.expiredDays(beforeMs)) {
      if (this.isClosed) return
      round.check()
      await lease.hold(dayText(dayMs), async (held) => {
        while (!(await manifest.expire(held, dayMs, endOfDay(dayMs)))) held.check()
      })
    }
    await leftovers.forget(round, beforeMs - NAMES_KEPT_MS)
  }

  private async sweep(): Promise<void> {
    const nowMs = this.options.clock.epochMs()
    if (nowMs - this.sweptMs < SPAN_MS.day) return
    await this.options.sweep()
    this.sweptMs = nowMs
  }

  private keptFromMs(nowMs: number): number {
    return spanStart('day', nowMs) - this.options.retentionDays * SPAN_MS.day
  }

  private async dueDays(): Promise<ClosedDay[]> {
    const { days, sharedClock, afterMs } = this.options
    const nowMs = await sharedClock.nowMs()
    const keptFromMs = this.keptFromMs(nowMs)
    const due: ClosedDay[] = []
    for (const day of await days.closedDays(nowMs - afterMs)) {
      // It leaves with its retention.
      if (day.dayMs < keptFromMs) continue
      const isLate = nowMs - afterMs - endOfDay(day.dayMs) >= SPOOL_WAIT_MS
      if (isLate || !(await days.isSpoolBehind(day.dayMs))) due.push(day)
    }
    return due
  }

  private async archive(lease: HeldLease, day: ClosedDay): Promise<void> {
    const { days, identity, manifest, leftovers, writer, tidier, log } = this.options
    const { dayMs } = day
    // First: a dump of the database holds the table for hours, and the files take minutes.
    await days.checkFree(lease, day)
    const hasFiles = (await manifest.liveFiles(dayMs)).length > 0
    const kind = hasFiles || day.isStray ? 'late' : 'part'
    const first = await manifest.nextNumber(dayMs, kind)
    const files: NewFile[] = []
    for (const part of listParts(await days.listBlocks(day))) {
      if (this.isClosed) return
      lease.check()
      const slot = { dayMs, kind, number: first + files.length } as const
      files.push(await writer.write(lease, slot, await this.read(day, part)))
    }
    await identity.check()
    await this.switchTo(lease, day, files)
    this.backOff.succeeded(dayMs)
    this.counts.days++
    const rows = files.reduce((sum, { rowCount }) => sum + rowCount, 0)
    log.archived({ day: dayText(dayMs), files: files.length, rows })
    await leftovers.giveUp(lease, dayMs)
    await tidier.tidy(lease, dayMs)
  }

  /** The files are there: only the switch is repeated while the table of the day is in use. */
  private async switchTo(
    lease: HeldLease,
    day: ClosedDay,
    files: readonly NewFile[],
  ): Promise<void> {
    const { days } = this.options
    for (const waitMs of SWITCH_WAITS_MS) {
      try {
        await days.switchTo(lease, day, files)
        return
      } catch (error) {
        if (!(error instanceof DayLockedError) || this.isClosed) throw error
      }
      await delay(waitMs)
      lease.check()
    }
    await days.switchTo(lease, day, files)
  }

  private async read(day: ClosedDay, part: readonly DayBlock[]): Promise<StoredBlock[]> {
    const blocks: StoredBlock[] = []
    const bounds = { bytesMax: PORTION_BYTES, blocksMax: PORTION_BLOCKS_MAX }
    for (const portion of splitAt(part, bounds)) {
      blocks.push(...(await this.options.days.read(day, portion)))
    }
    return blocks
  }

  private fail(error: unknown, day: string | null): void {
    this.counts.failures++
    this.options.log.failed(error, day)
  }
}

/** The blocks of each file: the same blocks give the same files. */
function listParts(blocks: readonly DayBlock[]): Iterable<DayBlock[]> {
  return splitAt(blocks, { bytesMax: FILE_BYTES_MAX, applicantsMax: FILE_APPLICANTS_MAX })
}

/** Tells whether no other day would go better. */
function concernsAll(error: unknown): boolean {
  return (
    // The database is away.
    error instanceof AppError ||
    error instanceof LeaseLostError ||
    error instanceof ForeignArchiveError ||
    (error instanceof ObjectStoreError && ['away', 'refused'].includes(error.failure))
  )
}

interface Failing {
  readonly failures: number
  readonly untilMs: number
}

const PAUSES = { minMs: 120_000, maxMs: 6 * 3_600_000 }
/** Days that are remembered; a further one is tried each time. */
const DAYS_MAX = 1_000

/**
 * Which days are not tried for a while, because they failed: from two minutes after the first
 * failure to six hours. To write a day costs minutes of a processor.
 */
class BackOff {
  private readonly failing = new Map<number, Failing>()

  failed(dayMs: number, nowMs: number): void {
    const failures = (this.failing.get(dayMs)?.failures ?? 0) + 1
    if (this.failing.size >= DAYS_MAX && failures === 1) return
    const waitMs = backOffMs(PAUSES, failures - 1)
    this.failing.set(dayMs, { failures, untilMs: nowMs + waitMs })
  }

  succeeded(dayMs: number): void {
    this.failing.delete(dayMs)
  }

  isOver(dayMs: number, nowMs: number): boolean {
    return nowMs >= (this.failing.get(dayMs)?.untilMs ?? 0)
  }
}

interface SplitBounds {
  readonly bytesMax: number
  readonly applicantsMax?: number
  readonly blocksMax?: number
}

/** Splits blocks in their order; a single block can be over a bound. */
function* splitAt(
  blocks: readonly DayBlock[],
  { bytesMax, applicantsMax = Infinity, blocksMax = Infinity }: SplitBounds,
): Generator<DayBlock[]> {
  let part: DayBlock[] = []
  let [bytes, applicants] = [0, 0]
  for (const block of blocks) {
    const isFull =
      bytes + block.bytes > bytesMax ||
      applicants + block.applicants > applicantsMax ||
      part.length >= blocksMax
    if (part.length > 0 && isFull) {
      yield part
      part = []
      bytes = 0
      applicants = 0
    }
    part.push(block)
    bytes += block.bytes
    applicants += block.applicants
  }
  if (part.length > 0) yield part
}
