import { EngineError, scoreCells } from '../../engine/index.ts'
import type { LoggedRequest, LoggedResult } from '../record/logged-request.ts'
import type { Card } from './logged-feature.ts'
import type { StoredModel } from './stored-models.ts'

/** A logged result that its bins and the stored scorecard do not give. */
export interface UnequalResult {
  readonly requestId: string
  readonly modelId: string
  /** Index of the record in its request. */
  readonly record: number
}

interface ReadRecords {
  readonly request: LoggedRequest
  readonly models: ReadonlyMap<string, StoredModel>
  /** Indexes of the first record and of the one after the last. */
  readonly first: number
  readonly end: number
}

/**
 * Recomputes the results of records from their bins, and compares them to the bit.
 *
 * Models that this version of the engine does not accept are left out.
 *
 * @returns the first result that differs; null if all are equal
 */
export function unequalResult({ request, models, first, end }: ReadRecords): UnequalResult | null {
  for (const [position, { modelId }] of request.models.entries()) {
    const card = models.get(modelId)?.card ?? null
    if (card === null) continue
    for (let record = first; record < end; record++) {
      const result = request.rows[record]?.results[position] ?? null
      if (result === null || isEqual(card, result)) continue
      return { requestId: request.requestId, modelId, record }
    }
  }
  return null
}

function isEqual({ model }: Card, { cells, score, pd, grade }: LoggedResult): boolean {
  try {
    const again = scoreCells(model, cells)
    return again.score === score && Object.is(again.pd, pd ?? Number.NaN) && again.grade === grade
  } catch (error) {
    if (error instanceof EngineError) return false
    throw error
  }
}
