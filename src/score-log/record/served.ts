import type { ScoreRecord } from './record.ts'
import type { ServedResults } from './rollup.ts'

/**
 * What a record says of the model that answered.
 *
 * @throws Error for a record that no answered request can have left
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
  if (!served.scores.every(Number.isFinite) || !served.pds.every(Number.isFinite)) {
    throw new Error('the record has no score for one of its applicants')
  }
  return served
}

/** Of an array of PostgreSQL, `{612.5,480}`. */
function numbersOf(text: string): number[] {
  if (text === '{}') return []
  const inner = text.slice(1, -1)
  // Mostly it is one.
  return inner.includes(',') ? inner.split(',').map(Number) : [Number(inner)]
}
