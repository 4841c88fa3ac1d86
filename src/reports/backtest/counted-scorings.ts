import { AppError } from '../../errors.ts'
import {
  type CellColumns,
  type Dedupe,
  REFERENCES_MAX,
  TooManyReferencesError,
} from '../../log/index.ts'
import { TurnTaker } from '../../platform/turn-taker.ts'
import { ReferenceTable } from './reference-table.ts'

/** Rows between two looks at the clock. */
const ROWS_A_LOOK = 200

/**
 * Which scorings of a period count: of each reference its first or its last, or each. A scoring
 * without a reference always counts.
 */
export class CountedScorings {
  private readonly table: ReferenceTable | null

  private constructor(table: ReferenceTable | null) {
    this.table = table
  }

  /**
   * Notes the references of all columns; with `none` it reads nothing. It gives way to the event
   * loop.
   *
   * @param openColumns begins to read the columns of the period, in the order of the later look
   * @throws AppError `invalid_request` above `REFERENCES_MAX`; what `signal` was aborted with
   */
  static async read(
    dedupe: Dedupe,
    openColumns: () => AsyncIterable<readonly CellColumns[]>,
    signal: AbortSignal,
  ): Promise<CountedScorings> {
    if (dedupe === 'none') return new CountedScorings(null)
    const table = new ReferenceTable(dedupe, REFERENCES_MAX)
    const turns = new TurnTaker()
    try {
      for await (const portion of openColumns()) {
        signal.throwIfAborted()
        for (const columns of portion) await note(table, columns, turns)
      }
    } catch (error) {
      if (!(error instanceof TooManyReferencesError)) throw error
      const message = 'the period has too many references: choose a shorter one, or dedupe none'
      throw new AppError('invalid_request', message, { cause: error })
    }
    return new CountedScorings(table.size === 0 ? null : table)
  }

  /** The columns with those of their wanted rows that count; each may be asked about once. */
  of(columns: CellColumns): CellColumns {
    const { table } = this
    if (table === null) return columns
    const wanted = columns.wanted.filter((row) => {
      const reference = columns.reference(row)
      return reference === null || table.takes(reference, ...findPlace(columns, row))
    })
    return { ...columns, wanted }
  }
}

async function note(table: ReferenceTable, columns: CellColumns, turns: TurnTaker) {
  for (const [index, row] of columns.wanted.entries()) {
    if (index % ROWS_A_LOOK === 0 && turns.isOver) await turns.giveWay()
    const reference = columns.reference(row)
    if (reference !== null) table.note(reference, ...findPlace(columns, row))
  }
}

function findPlace(columns: CellColumns, row: number): [atMs: number, index: number] {
  return [columns.scoredAtMs(columns.requestOfRow[row] ?? 0), columns.recordIndex(row)]
}
