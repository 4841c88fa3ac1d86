import {
  type ApplicantReader,
  type Failures,
  groupsOf,
  type Periods,
  type ReaderGroup,
  type ReaderOf,
} from './applicant-readers.ts'
import type { ScannedColumns } from './columns.ts'
import type { ScanQuery } from './log-query.ts'
import type { LogReader } from './log-reader.ts'
import { PartNames } from './part-names.ts'
import { untilAborted } from './scan-queue.ts'
import { addEverybody, scanTwice } from './scanned-twice.ts'
import { ScoringsByTime } from './scorings-by-time.ts'
import type { TimedColumns, TimeOrder } from './timed-columns.ts'
import { TurnTaker } from './turn-taker.ts'

/** Which scoring of a reference counts: its first, its last, or each. */
export const DEDUPES = ['last', 'first', 'none'] as const
export type Dedupe = (typeof DEDUPES)[number]

/** References of a period of a group of readers: with all of them, its set takes 128 MiB. */
export const REFERENCES_MAX = 12_000_000
/** Bytes of blocks that wait for others of the same time before it is looked who counts. */
const WAITING_BYTES = 16 * 1024 * 1024

export interface SharedScan {
  readonly log: Pick<LogReader, 'columns' | 'columnsByTime'>
  readonly query: ScanQuery
  readonly dedupe: Dedupe
  /** See `REFERENCES_MAX`. */
  readonly referencesMax?: number
  /** Ends the scan early. */
  readonly signal?: AbortSignal
}

export interface ApplicantScan extends SharedScan {
  /** A reference counts once in each. Absent: one period. */
  readonly periods?: Periods
}

/**
 * Reads every applicant of a range of the log that counts, for one reader.
 *
 * @throws AppError as `scanTogether`, and what the reader failed with
 */
export async function scanApplicants(
  { periods, ...scan }: ApplicantScan,
  readerOf: ReaderOf,
): Promise<void> {
  const reader = { takers: '', readerOf, ...(periods && { periods }) }
  for (const error of (await scanTogether(scan, () => [reader])).values()) throw error
}

/**
 * Reads every applicant of a range of the log that counts, for several readers at once. Those
 * without a reference always count. The log is read once in the order of time, so that the first
 * scoring of a reference that is met is the one that counts; a range with rows of the first form is
 * read twice instead. It yields to the event loop, so that scores do not wait; memory grows with
 * the number of references, up to their bound.
 *
 * The log here is what the database has: the newest scores follow within two seconds. Each block is
 * read once, and counts as it was then.
 *
 * @param readersOf asked once, when the first part of the log is there
 * @returns what readers failed with: AppError `invalid_request` if a period of the range has more
 *   references than `referencesMax`, and what they throw themselves
 * @throws AppError `unavailable` if scorings left the log meanwhile; what `signal` was aborted with
 */
export async function scanTogether(
  scan: SharedScan,
  readersOf: () => readonly ApplicantReader[],
): Promise<Failures> {
  const { log, query, dedupe } = scan
  const failures: Failures = new Map()
  const open = () => groupsOf(readersOf(), failures)
  if (dedupe === 'none') {
    await scanEverybody(scan, open)
    return failures
  }
  const order = dedupe === 'last' ? 'newest' : 'oldest'
  const blocks = await log.columnsByTime(query, order)
  if (blocks !== null) await scanByTime(scan, { blocks, order }, open)
  else for (const group of open()) await scanUnordered({ ...scan, dedupe }, group)
  return failures
}

async function scanEverybody(
  { log, query, signal }: SharedScan,
  open: () => ReaderGroup[],
): Promise<void> {
  const turns = new TurnTaker()
  let groups: ReaderGroup[] | null = null
  for await (const portion of log.columns(query)) {
    groups ??= open()
    for (const columns of portion) {
      signal?.throwIfAborted()
      for (const group of groups) await addEverybody(columns, group, turns)
    }
    if (groups.every(({ isEmpty }) => isEmpty)) return
  }
  if (groups === null) open()
}

async function scanUnordered(
  { log, query, dedupe, referencesMax, signal }: SharedScan & { dedupe: 'first' | 'last' },
  group: ReaderGroup,
): Promise<void> {
  const columns = (): AsyncIterable<readonly ScannedColumns[]> =>
    signal === undefined ? log.columns(query) : untilAborted(log.columns(query), signal)
  const max = referencesMax ?? REFERENCES_MAX
  try {
    await scanTwice({ open: columns, keeps: dedupe, referencesMax: max }, group)
  } catch (error) {
    group.failAll(error)
  }
}

interface BlocksByTime {
  readonly blocks: AsyncIterable<TimedColumns>
  readonly order: TimeOrder
}

async function scanByTime(
  { referencesMax = REFERENCES_MAX, signal }: SharedScan,
  { blocks, order }: BlocksByTime,
  open: () => ReaderGroup[],
): Promise<void> {
  let groups: ReaderGroup[] | null = null
  let counts: ScoringsByTime[] = []
  let hourMs = Number.NaN
  let waitingBytes = 0
  const names = new PartNames()
  const turns = new TurnTaker()
  const settle = async (edgeMs: number | null) => {
    for (const count of counts) await count.settle(edgeMs)
    waitingBytes = 0
  }
  for await (const block of blocks) {
    signal?.throwIfAborted()
    if (groups === null) {
      groups = open()
      counts = groups.map((group) => new ScoringsByTime(group, order, referencesMax))
    }
    if (block.hourMs !== hourMs) {
      await settle(null)
      hourMs = block.hourMs
      for (const count of counts) count.enter(hourMs)
    } else if (waitingBytes > WAITING_BYTES) {
      await settle(order === 'newest' ? block.lastAtMs + 1 : block.firstAtMs - 1)
    }
    if (groups.every(({ isEmpty }) => isEmpty)) return
    waitingBytes += block.bytes
    for (const columns of block.parts) {
      const { hasReferences } = columns
      if (hasReferences) await names.read(columns, turns)
      for (const count of counts) await count.take(block, columns, hasReferences ? names : null)
    }
  }
  await settle(null)
  if (groups === null) open()
}
