import { AppError } from '../../errors.ts'
import type { ReaderGroup } from './applicant-readers.ts'
import type { ScannedColumns } from './columns.ts'
import { ReferenceTable, TooManyReferencesError } from './reference-table.ts'
import { TurnTaker } from './turn-taker.ts'

/** Applicants that a reader gets at a time, between two looks at the clock. */
const APPLICANTS_A_LOOK = 1_024

type Choice = (row: number) => boolean

const EVERYBODY: Choice = () => true

/** A log whose parts come in no order of time. */
interface UnorderedScan {
  readonly open: () => AsyncIterable<readonly ScannedColumns[]>
  readonly keeps: 'first' | 'last'
  readonly referencesMax: number
}

/**
 * Reads every applicant that counts, for one group of readers. Those without a reference count at
 * once. Only where there are references a second scan follows, for the scorings that count.
 *
 * @throws AppError `invalid_request` for too many references; `unavailable` if scorings left the
 *   log between the scans
 */
export async function scanTwice(
  { open, keeps, referencesMax }: UnorderedScan,
  group: ReaderGroup,
): Promise<void> {
  const table = new ReferenceTable(keeps, referencesMax)
  try {
    await eachChosen(open(), group, (columns) => withoutReference(group, columns, table))
  } catch (error) {
    if (!(error instanceof TooManyReferencesError)) throw error
    const message = 'the period has too many references: choose a shorter one, or dedupe=none'
    throw new AppError('invalid_request', message, { cause: error })
  }
  if (table.size === 0 || group.isEmpty) return
  await eachChosen(open(), group, (columns) => countedOnes(group, columns, table))
  if (table.taken < table.size && !group.isEmpty) {
    const message = 'scores of the period left the log while it was read: ask again'
    throw new AppError('unavailable', message)
  }
}

/** Reads every applicant of parts in any order: each counts. */
export async function addEverybody(
  columns: ScannedColumns,
  group: ReaderGroup,
  turns: TurnTaker,
): Promise<void> {
  await addChosen(columns, { group, isChosen: EVERYBODY, turns })
}

/** Chooses applicants without a reference, and notes the others. */
function withoutReference(
  { periods }: ReaderGroup,
  columns: ScannedColumns,
  table: ReferenceTable,
): Choice {
  if (!columns.hasReferences) return EVERYBODY
  const { requestOfRow } = columns
  return (row) => {
    if (!columns.hashReference(row, table)) return true
    const atMs = columns.scoredAtMs(requestOfRow[row] ?? 0)
    table.note(periods?.of(atMs) ?? 0, atMs, columns.recordIndex(row))
    return false
  }
}

/** Chooses the scorings of references that count; null where there is none. */
function countedOnes(
  { periods }: ReaderGroup,
  columns: ScannedColumns,
  table: ReferenceTable,
): Choice | null {
  if (!columns.hasReferences) return null
  const { requestOfRow } = columns
  return (row) => {
    if (!columns.hashReference(row, table)) return false
    const atMs = columns.scoredAtMs(requestOfRow[row] ?? 0)
    return table.takes(periods?.of(atMs) ?? 0, atMs, columns.recordIndex(row))
  }
}

async function eachChosen(
  portions: AsyncIterable<readonly ScannedColumns[]>,
  group: ReaderGroup,
  choiceOf: (columns: ScannedColumns) => Choice | null,
): Promise<void> {
  const turns = new TurnTaker()
  for await (const portion of portions) {
    // All have failed.
    if (group.isEmpty) return
    for (const columns of portion) {
      const isChosen = choiceOf(columns)
      if (isChosen !== null) await addChosen(columns, { group, isChosen, turns })
    }
  }
}

interface Choosing {
  readonly group: ReaderGroup
  readonly isChosen: Choice
  readonly turns: TurnTaker
}

/** Hands over the chosen of those who take part, and yields to the event loop. */
async function addChosen(
  columns: ScannedColumns,
  { group, isChosen, turns }: Choosing,
): Promise<void> {
  const reader = await group.partOf(columns)
  if (reader === null) return
  const { wanted } = columns
  const rows = new Int32Array(Math.min(APPLICANTS_A_LOOK, wanted.length))
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
