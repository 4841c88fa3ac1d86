import { TurnTaker } from '../../platform/turn-taker.ts'
import type { CountsTaker } from '../blocks/result-counts.ts'
import {
  type ApplicantReader,
  type Failures,
  listGroups,
  type Periods,
  type ReaderGroup,
  type ReaderOf,
} from './applicant-readers.ts'
import type { ScannedColumns, TimeOrder } from './columns.ts'
import type { ScanQuery } from './log-query.ts'
import type { LogReader } from './log-reader.ts'
import { PartNames, ScoringsByTime } from './scorings-by-time.ts'

/** Which scoring of a reference counts: its first, its last, or each. */
const DEDUPES = ['last', 'first', 'none'] as const
export type Dedupe = (typeof DEDUPES)[number]

/** References of a period of a group of readers: with all of them, its set takes 128 MiB. */
export const REFERENCES_MAX = 12_000_000
/** Applicants to add before checking the time budget. */
const APPLICANTS_A_LOOK = 1_024
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
  makeReader: ReaderOf,
): Promise<void> {
  const reader = { takers: '', makeReader, ...(periods && { periods }) }
  for (const error of (await scanTogether(scan, () => [reader])).values()) throw error
}

/**
 * Reads every applicant of a range of the log that counts, for several readers at once. Those
 * without a reference always count. The log is read once in the order of time, so that the first
 * scoring of a reference that is met is the one that counts. It yields to the event loop, so that
 * scores do not wait; memory grows with the number of references, up to their bound.
 *
 * The log here is what the database has: the newest scores follow within two seconds. Each block is
 * read once, and counts as it was then.
 *
 * @param makeReaders asked once, when the first part of the log is there
 * @returns what readers failed with: AppError `invalid_request` if a period of the range has more
 *   references than `referencesMax`, and what they throw themselves
 * @throws what `signal` was aborted with
 */
export async function scanTogether(
  scan: SharedScan,
  makeReaders: () => readonly ApplicantReader[],
): Promise<Failures> {
  const failures: Failures = new Map()
  let groups: ReaderGroup[] | null = null
  const open = () => {
    groups ??= listGroups(makeReaders(), failures)
    return groups
  }
  if (scan.dedupe === 'none') await scanEverybody(scan, open)
  else await scanByTime(scan, scan.dedupe === 'last' ? 'newest' : 'oldest', open)
  open()
  return failures
}

/** Lets readers take the counts of a block where all of them can do without its applicants. */
function takingCounts({ dedupe, signal }: SharedScan, open: () => readonly ReaderGroup[]) {
  const take: CountsTaker = (block) => {
    signal?.throwIfAborted()
    const additions = open().map((group) => group.takeCounts(block, dedupe !== 'none'))
    if (additions.includes(null)) return false
    for (const add of additions) add?.()
    return true
  }
  return () => {
    const groups = open().filter(({ isEmpty }) => !isEmpty)
    return groups.length > 0 && groups.every(({ takesCounts }) => takesCounts) ? take : null
  }
}

async function scanEverybody(scan: SharedScan, open: () => ReaderGroup[]): Promise<void> {
  const { log, query, signal } = scan
  const turns = new TurnTaker()
  for await (const portion of log.columns(query, takingCounts(scan, open))) {
    const groups = open()
    for (const columns of portion) {
      signal?.throwIfAborted()
      for (const group of groups) await addAll(columns, group, turns)
    }
    if (groups.every(({ isEmpty }) => isEmpty)) return
  }
}

/** Hands over all applicants of a part that take part. */
async function addAll(
  columns: ScannedColumns,
  group: ReaderGroup,
  turns: TurnTaker,
): Promise<void> {
  const reader = await group.makePart(columns)
  if (reader === null) return
  const { wanted } = columns
  const rows = new Int32Array(Math.min(APPLICANTS_A_LOOK, wanted.length))
  for (let from = 0; from < wanted.length; from += APPLICANTS_A_LOOK) {
    const end = Math.min(from + APPLICANTS_A_LOOK, wanted.length)
    let chosen = 0
    for (let index = from; index < end; index++) {
      const row = wanted[index] ?? 0
      if (reader.takes(row)) rows[chosen++] = row
    }
    if (chosen > 0) reader.add(rows.subarray(0, chosen))
    if (turns.isOver) await turns.giveWay()
  }
}

async function scanByTime(
  scan: SharedScan,
  order: TimeOrder,
  open: () => ReaderGroup[],
): Promise<void> {
  const { log, query, referencesMax = REFERENCES_MAX, signal } = scan
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
  for await (const block of log.columnsByTime(query, order, takingCounts(scan, open))) {
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
}
