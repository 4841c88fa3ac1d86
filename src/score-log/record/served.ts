import type { ServedResults } from '../../rollups/rollup.ts'
import type { ScoreRecord } from './record-v3.ts'

/**
 * The results of the model that answered.
 *
 * @throws Error for a record that no answered request can have written
 */
export function servedOf(record: ScoreRecord): ServedResults {
  const { scoredAtMs, latencyMs, servedScores, servedPds } = record
  const served = {
    scoredAtMs,
    latencyMs,
    scores: numbersOf(servedScores),
    pds: numbersOf(servedPds),
  }
  if (!Number.isFinite(scoredAtMs) || !Number.isFinite(latencyMs)) {
    throw new Error('the record does not say when it was answered')
  }
  if (!served.scores.every(Number.isFinite) || !arePds(served.pds, servedPds)) {
    throw new Error('the record has no score for one of its applicants')
  }
  return served
}

/**
 * All finite or all written as NaN, since one model answers. `Number` reads other texts as NaN too.
 */
function arePds(pds: readonly number[], text: string): boolean {
  return pds.every(Number.isFinite) || text === `{${pds.map(() => 'NaN').join()}}`
}

/** Reads a PostgreSQL array, `{612.5,480}`. */
function numbersOf(text: string): number[] {
  if (text === '{}') return []
  const inner = text.slice(1, -1)
  // Mostly it is one number.
  return inner.includes(',') ? inner.split(',').map(Number) : [Number(inner)]
}
