import type { ScoreRecord } from './record.ts'
import type { ServedResults } from './rollup.ts'

/** What the model that answered said; one item for each applicant. */
export interface Served extends ServedResults {
  readonly modelId: string
  readonly grades: readonly (string | null)[]
}

/**
 * What a record says of the model that answered.
 *
 * @throws Error for a record that no answered request can have left
 */
export function servedOf(record: ScoreRecord): Served {
  const { scoredAtMs, latencyMs } = record
  const model = record.models[record.served]
  if (model === undefined) throw new Error('the record does not say who answered')
  const { modelId, scores, pds, grades } = model
  if (!areNumbers([scoredAtMs, latencyMs]) || !areNumbers(scores) || !areNumbers(pds)) {
    throw new Error('the record has no score for one of its applicants')
  }
  return { modelId, scoredAtMs, latencyMs, scores, pds, grades }
}

function areNumbers(values: readonly unknown[]): values is readonly number[] {
  return values.every((value) => Number.isFinite(value))
}
