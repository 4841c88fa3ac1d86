import { type CellScore, EngineError, scoreCells } from '../../engine/index.ts'
import type { Card, CellColumns, CellModel, LoggedResults, StoredModel } from '../../log/index.ts'
import type { TurnTaker } from '../../platform/turn-taker.ts'

/** One logged result that is not what its bins and its card give. */
export interface ReplayDifference {
  readonly requestId: string
  readonly recordIndex: number
  readonly modelId: string
  /** `spec_sha256`: the card is not the one that scored. */
  readonly field: 'spec_sha256' | 'score' | 'pd' | 'risk_grade'
  /** Null also for a score that the log derives from the card, and that does not follow from it. */
  readonly logged: number | string | null
  readonly recomputed: number | string | null
}

export interface ReplayTotals {
  /** Number of results: one for each applicant and model. */
  n: number
  identical: number
  /** The first of them. */
  readonly different: ReplayDifference[]
}

/** Differences that are listed. */
const DIFFERENCES_MAX = 1_000
/** Rows between two looks at the clock. */
const ROWS_A_LOOK = 200

/**
 * Recomputes the results of all models from their logged cells, and compares them to the bit.
 *
 * @param models the stored models by id
 */
export async function replayColumns(
  columns: CellColumns,
  models: ReadonlyMap<string, StoredModel>,
  totals: ReplayTotals,
  turns: TurnTaker,
): Promise<void> {
  for (const model of columns.models) {
    const stored = models.get(model.modelId) ?? null
    const computeDifference = comparison(model, stored)
    for (const [index, row] of columns.wanted.entries()) {
      if (index % ROWS_A_LOOK === 0 && turns.isOver) await turns.giveWay()
      if (model.scored[row] !== 1) continue
      totals.n++
      const difference = computeDifference(row)
      if (difference === null) totals.identical++
      else if (totals.different.length < DIFFERENCES_MAX) {
        totals.different.push({
          requestId: columns.requestId(columns.requestOfRow[row] ?? 0),
          recordIndex: columns.recordIndex(row),
          modelId: model.modelId,
          ...difference,
        })
      }
    }
  }
}

type Found = Pick<ReplayDifference, 'field' | 'logged' | 'recomputed'>

/** Compares one row; the result is null where nothing differs. */
function comparison(model: CellModel, stored: StoredModel | null): (row: number) => Found | null {
  const logged = model.specSha256
  const recomputed = stored?.specSha256 ?? null
  if (logged !== null && logged !== recomputed) {
    return () => ({ field: 'spec_sha256', logged, recomputed })
  }
  const card = stored?.card ?? null
  if (card === null) return () => ({ field: 'spec_sha256', logged, recomputed: null })
  const results = readResults(model)
  const score = scorer(model, card)
  return (row) => {
    const again = score(row)
    if (results === null) {
      return { field: 'score', logged: null, recomputed: again?.score ?? null }
    }
    return firstDifference(results, row, again)
  }
}

/** Null where the log derives results from the card, and they do not follow from it. */
function readResults(model: CellModel): LoggedResults | null {
  try {
    return model.results()
  } catch {
    return null
  }
}

/** Null for cells that the card does not have. */
function scorer({ cells }: CellModel, card: Card) {
  const own = new Int32Array(cells.length)
  return (row: number): CellScore | null => {
    for (let feature = 0; feature < own.length; feature++) {
      own[feature] = cells[feature]?.[row] ?? 0
    }
    try {
      return scoreCells(card.model, own)
    } catch (error) {
      if (error instanceof EngineError) return null
      throw error
    }
  }
}

function firstDifference(
  { scores, pds, readGrade }: LoggedResults,
  row: number,
  again: CellScore | null,
): Found | null {
  const score = scores[row] ?? Number.NaN
  if (again === null || !Object.is(score, again.score)) {
    return { field: 'score', logged: score, recomputed: again?.score ?? null }
  }
  const pd = pds[row] ?? Number.NaN
  if (!Object.is(pd, again.pd)) {
    return { field: 'pd', logged: orNull(pd), recomputed: orNull(again.pd) }
  }
  const grade = readGrade(row)
  if (grade === again.grade) return null
  return { field: 'risk_grade', logged: grade, recomputed: again.grade }
}

function orNull(pd: number): number | null {
  return Number.isNaN(pd) ? null : pd
}
