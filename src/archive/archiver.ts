import { AppError } from '../errors.ts'
import type { Clock } from '../platform/clock.ts'
import { ObjectStoreError } from '../platform/object-store/object-store.ts'
import { SPAN_MS, spanStart } from '../rollups/spans.ts'
import type { StoredBlock } from '../score-log/blocks/stored-block.ts'
import type { ClosedDay, DayBlock, DayStore } from './day-store.ts'
import { type FileWriter, ForeignArchiveError } from './file-writer.ts'
import { type ArchiveLease, type HeldLease, LeaseLostError } from './lease.ts'
import type { ArchiveFacts, ManifestStore, NewFile } from './manifest-store.ts'
import { dayText, endOfDay } from './names.ts'

/** What operators should see in the log. */
export interface ArchiverLog {
  archived(facts: { readonly day: string; readonly files: number; readonly rows: number }): void
  failed(error: unknown, day: string | null): void
}

export interface ArchiverOptions {
  readonly lease: ArchiveLease
  readonly days: DayStore
  readonly manifest: ManifestStore
  readonly writer: FileWriter
  readonly clock: Clock
  /** How long after its end a day goes to the archive. */
  readonly afterMs: number
  readonly retentionDays: number
  readonly log: ArchiverLog
}

const EVERY_MS = 600_000
/** After a round in which something failed. */
const RETRY_MS = 120_000
/** A day waits this much longer for a spool that was drained on that day and not since. */
const SPOOL_WAIT_MS = SPAN_MS.day
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
 * leaves objects that the next round deletes; one that dies after it leaves a `_manifest.json`
 * that the next round writes. What is drained later for an archived day goes into a further file.
 */
export class Archiver {
  private readonly options: ArchiverOptions
  private timer: NodeJS.Timeout | undefined
  private round: Promise<void> = Promise.resolve()
  private isClosed = false
  /** What this process has done since its start. */
  readonly counts = { days: 0, failures: 0 }
  /** When a round of this process last ended without a failure, in seconds since 1970; 0: never. */
  lastSuccessSec = 0
  /** Days and bytes in the archive, as of the last round of any process. */
  facts: ArchiveFacts = { days: 0, bytes: 0 }
  /** Days that are due and still in the database, as of the last round. */
  waitingDays = 0

  constructor(options: ArchiverOptions) {
    this.options = options
  }

  start(): void {
    this.round = this.rounds()
  }

  /** Waits for the running round and starts no other. */
  async close(): Promise<void> {
    this.isClosed = true
    clearTimeout(this.timer)
    await this.round
  }

  private async rounds(): Promise<void> {
    const isDone = await this.run()
    if (this.isClosed) return
    const next = () => {
      this.round = this.rounds()
    }
    this.timer = setTimeout(next, isDone ? EVERY_MS : RETRY_MS).unref()
  }

  /** One round; never rejects. @returns whether nothing failed */
  async run(): Promise<boolean> {
    const { lease, manifest, clock } = this.options
    const failuresBefore = this.counts.failures
    try {
      await lease.hold((held) => this.runHeld(held))
      this.facts = await manifest.facts()
      this.waitingDays = (await this.dueDays()).length
    } catch (error) {
      this.fail(error, null)
    }
    const isDone = this.counts.failures === failuresBefore
    if (isDone) this.lastSuccessSec = clock.epochMs() / 1_000
    return isDone
  }

  private async runHeld(lease: HeldLease): Promise<void> {
    const { writer, manifest, clock, retentionDays } = this.options
    await writer.begin(lease)
    const today = spanStart('day', clock.epochMs())
    await manifest.expire(lease.holder, today - retentionDays * SPAN_MS.day)
    await writer.tidyAll(lease)
    for (const day of await this.dueDays()) {
      if (this.isClosed) return
      try {
        await this.archive(lease, day)
      } catch (error) {
        if (concernsAll(error)) throw error
        // The other days go on.
        this.fail(error, dayText(day.dayMs))
      }
    }
  }

  private async dueDays(): Promise<ClosedDay[]> {
    const { days, clock, afterMs, retentionDays } = this.options
    const nowMs = clock.epochMs()
    const keptFromMs = spanStart('day', nowMs) - retentionDays * SPAN_MS.day
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
    const { days, manifest, writer, log } = this.options
    const { dayMs } = day
    const hasFiles = (await manifest.liveFiles(dayMs)).length > 0
    const kind = hasFiles || day.isStray ? 'late' : 'part'
    const first = await manifest.nextNumber(dayMs, kind)
    const files: NewFile[] = []
    for (const part of partsOf(await days.blocksOf(day))) {
      if (this.isClosed) return
      lease.check()
      const name = { dayMs, kind, number: first + files.length, generation: 1 } as const
      files.push(await writer.write(lease, name, await this.read(day, part)))
    }
    await days.switchTo(lease.holder, day, files)
    await writer.tidyAll(lease)
    this.counts.days++
    const rows = files.reduce((sum, { rowCount }) => sum + rowCount, 0)
    log.archived({ day: dayText(dayMs), files: files.length, rows })
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
function partsOf(blocks: readonly DayBlock[]): Iterable<DayBlock[]> {
  return splitAt(blocks, { bytesMax: FILE_BYTES_MAX, applicantsMax: FILE_APPLICANTS_MAX })
}

interface SplitBounds {
  readonly bytesMax: number
  readonly applicantsMax?: number
  readonly blocksMax?: number
}

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

/** Whether no other day would go better. */
function concernsAll(error: unknown): boolean {
  return (
    // The database is away.
    error instanceof AppError ||
    error instanceof LeaseLostError ||
    error instanceof ForeignArchiveError ||
    (error instanceof ObjectStoreError && ['away', 'refused'].includes(error.failure))
  )
}
