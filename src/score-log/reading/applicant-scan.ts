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
}

/** What a reader does with a part of the applicants, by their index in it. */
export interface PartReader {
  /** Whether an applicant takes part. Of the same reference, only those that do are compared. */
  readonly takes: (row: number) => boolean
  /** Called once for each applicant that counts. */
  readonly add: (row: number) => void
}

/** What to do with a part of the applicants; null leaves it out. */
export type ReaderOf = (columns: ScannedColumns) => PartReader | null | Promise<PartReader | null>

/** Applicants between two looks at the clock. */
const APPLICANTS_A_LOOK = 200

/**
 * Reads every applicant of a range of the log that counts. Without references that is one scan;
 * with them a scan of the references first. It yields to the event loop, so that scores do not
 * wait; memory grows with the number of references, up to their bound.
 *
 * The log here is what the database has: the newest scores follow within two seconds.
 *
 * @throws AppError `invalid_request` if the range has more references than `referencesMax`
 */
export async function scanApplicants(scan: ApplicantScan, readerOf: ReaderOf): Promise<void> {
  const table = scan.dedupe === 'none' ? null : await tableOf(scan, scan.dedupe, readerOf)
  await eachRow(scan, readerOf, (columns, { add }) => {
    if (table === null || table.size === 0) return add
    const keyOf = keysOf(scan, columns)
    return (row) => {
      const reference = columns.reference(row)
      if (reference === null || table.takes(reference, ...keyOf(row))) add(row)
    }
  })
}

/** The references of all applicants that take part. */
async function tableOf(
  scan: ApplicantScan,
  keeps: 'first' | 'last',
  readerOf: ReaderOf,
): Promise<ReferenceTable> {
  const table = new ReferenceTable(keeps, scan.referencesMax ?? REFERENCES_MAX)
  try {
    await eachRow(scan, readerOf, (columns) => {
      const keyOf = keysOf(scan, columns)
      return (row) => {
        const reference = columns.reference(row)
        if (reference !== null) table.note(reference, ...keyOf(row))
      }
    })
  } catch (error) {
    if (!(error instanceof TooManyReferencesError)) throw error
    const message = 'the period has too many references: choose a shorter one, or dedupe=none'
    throw new AppError('invalid_request', message, { cause: error })
  }
  return table
}

/** Period, time and index of each applicant of a part. */
function keysOf({ periodOf }: ApplicantScan, columns: ScannedColumns) {
  return (row: number): [period: number, atMs: number, index: number] => {
    const atMs = columns.scoredAtMs(columns.requestOfRow[row] ?? 0)
    return [periodOf === undefined ? 0 : periodOf(atMs), atMs, columns.recordIndex(row)]
  }
}

/** Visits each applicant that takes part, and yields to the event loop. */
async function eachRow(
  { log, query }: ApplicantScan,
  readerOf: ReaderOf,
  visitOf: (columns: ScannedColumns, reader: PartReader) => (row: number) => void,
): Promise<void> {
  const turns = new TurnTaker()
  for await (const portion of log.columns(query)) {
    for (const columns of portion) {
      const reader = await readerOf(columns)
      if (reader === null) continue
      const visit = visitOf(columns, reader)
      const { wanted } = columns
      for (let index = 0; index < wanted.length; index++) {
        const row = wanted[index] ?? 0
        if (reader.takes(row)) visit(row)
        if (index % APPLICANTS_A_LOOK === 0 && turns.isOver) await turns.giveWay()
      }
    }
  }
}
