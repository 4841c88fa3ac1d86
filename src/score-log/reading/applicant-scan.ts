import { AppError } from '../../errors.ts'
import type { ScannedColumns } from './columns.ts'
import type { ScanQuery } from './log-query.ts'
import type { LogReader } from './log-reader.ts'
import { ReferenceTable, TooManyReferencesError } from './reference-table.ts'
import { TurnTaker } from './turn-taker.ts'

/** Which scoring of a reference counts: its first, its last, or each. */
export const DEDUPES = ['last', 'first', 'none'] as const
export type Dedupe = (typeof DEDUPES)[number]

/** References of a scan: with all of them, its table takes 320 MiB. */
export const REFERENCES_MAX = 12_000_000

export interface ApplicantScan {
  readonly log: Pick<LogReader, 'columns'>
  readonly query: ScanQuery
  readonly dedupe: Dedupe
  /** Number of the period of a time: a reference counts once in each. Absent: one period. */
  readonly periodOf?: (atMs: number) => number
  /** See `REFERENCES_MAX`. */
  readonly referencesMax?: number
  /** Ends the scan early. */
  readonly signal?: AbortSignal
}

/** What a reader does with a part of the applicants, by their index in it. */
export interface PartReader {
  /** Whether an applicant takes part. Of the same reference, only those that do are compared. */
  readonly takes: (row: number) => boolean
  /** Called with applicants that count, each once, in the order of the part; they are not kept. */
  readonly add: (rows: Int32Array) => void
}

/** What to do with a part of the applicants; null leaves it out. It can be asked twice. */
export type ReaderOf = (columns: ScannedColumns) => PartReader | null | Promise<PartReader | null>

/** Applicants that a reader gets at a time, between two looks at the clock. */
const APPLICANTS_A_LOOK = 1_024

/**
 * Reads every applicant of a range of the log that counts. Those without a reference count at
 * once. Only where there are references a second scan follows, for the scorings that count. It
 * yields to the event loop, so that scores do not wait; memory grows with the number of
 * references, up to their bound.
 *
 * The log here is what the database has: the newest scores follow within two seconds.
 *
 * @throws AppError `invalid_request` if the range has more references than `referencesMax`;
 *   `unavailable` if scorings left the log between the scans; what `signal` was aborted with
 */
export async function scanApplicants(scan: ApplicantScan, readerOf: ReaderOf): Promise<void> {
  if (scan.dedupe === 'none') {
    await eachPart(scan, readerOf, () => EVERYBODY)
    return
  }
  const table = new ReferenceTable(scan.dedupe, scan.referencesMax ?? REFERENCES_MAX)
  try {
    await eachPart(scan, readerOf, (columns) => withoutReference(scan, columns, table))
  } catch (error) {
    if (!(error instanceof TooManyReferencesError)) throw error
    const message = 'the period has too many references: choose a shorter one, or dedupe=none'
    throw new AppError('invalid_request', message, { cause: error })
  }
  if (table.size === 0) return
  await eachPart(scan, readerOf, (columns) => countedOnes(scan, columns, table))
  if (table.taken < table.size) {
    const message = 'scores of the period left the log while it was read: ask again'
    throw new AppError('unavailable', message)
  }
}

type Choice = (row: number) => boolean

const EVERYBODY: Choice = () => true

/** Chooses applicants without a reference, and notes the others. */
function withoutReference(
  scan: ApplicantScan,
  columns: ScannedColumns,
  table: ReferenceTable,
): Choice {
  if (!columns.hasReferences) return EVERYBODY
  const { periodOf = ONE_PERIOD } = scan
  const { requestOfRow } = columns
  return (row) => {
    if (!columns.hashReference(row, table)) return true
    const atMs = columns.scoredAtMs(requestOfRow[row] ?? 0)
    table.note(periodOf(atMs), atMs, columns.recordIndex(row))
    return false
  }
}

/** Chooses the scorings of references that count; null where there is none. */
function countedOnes(
  scan: ApplicantScan,
  columns: ScannedColumns,
  table: ReferenceTable,
): Choice | null {
  if (!columns.hasReferences) return null
  const { periodOf = ONE_PERIOD } = scan
  const { requestOfRow } = columns
  return (row) => {
    if (!columns.hashReference(row, table)) return false
    const atMs = columns.scoredAtMs(requestOfRow[row] ?? 0)
    return table.takes(periodOf(atMs), atMs, columns.recordIndex(row))
  }
}

const ONE_PERIOD = () => 0

/** Visits the chosen of those who take part, part by part, and yields to the event loop. */
async function eachPart(
  { log, query, signal }: ApplicantScan,
  readerOf: ReaderOf,
  choiceOf: (columns: ScannedColumns) => Choice | null,
): Promise<void> {
  const turns = new TurnTaker()
  const rows = new Int32Array(APPLICANTS_A_LOOK)
  for await (const portion of log.columns(query)) {
    for (const columns of portion) {
      signal?.throwIfAborted()
      const isChosen = choiceOf(columns)
      const reader = isChosen === null ? null : await readerOf(columns)
      if (isChosen === null || reader === null) continue
      const { wanted } = columns
      for (let from = 0; from < wanted.length; from += APPLICANTS_A_LOOK) {
        const end = Math.min(from + APPLICANTS_A_LOOK, wanted.length)
        let chosen = 0
        for (let index = from; index < end; index++) {
          const row = wanted[index] ?? 0
          if (reader.takes(row) && isChosen(row)) rows[chosen++] = row
        }
        if (chosen > 0) reader.add(rows.subarray(0, chosen))
        if (turns.isOver) await turns.giveWay()
      }
    }
  }
}
