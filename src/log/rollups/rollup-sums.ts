import {
  addRequest,
  copyRollup,
  makeRollup,
  mergeRollup,
  type Rollup,
  type ServedResults,
} from './rollup.ts'
import { type Span, spanStart } from './spans.ts'

/** Identifies a rollup of one writer. */
export interface RollupKey {
  readonly deploymentId: string
  readonly span: Span
  readonly startsAtMs: number
}

export interface KeyedRollup extends RollupKey {
  readonly rollup: Rollup
}

/** The part of a record that the sums need. */
interface SummedRecord {
  readonly deploymentId: string
  readonly modelCount: number
}

/** Sums up requests by deployment and time. */
export class RollupSums {
  records = 0
  /** Results of all models, served or not. */
  results = 0
  private readonly minutes = new Map<string, KeyedRollup>()

  /**
   * A request without applicants adds to no rollup.
   *
   * @param near the rollup of a request before, which nearly always has the same deployment and
   *   minute
   * @returns the rollup that the request was added to, or `near`
   */
  add(
    { deploymentId, modelCount }: SummedRecord,
    served: ServedResults,
    near: KeyedRollup | null = null,
  ): KeyedRollup | null {
    this.records++
    this.results += served.scores.length * modelCount
    if (served.scores.length === 0) return near
    const startsAtMs = spanStart('minute', served.scoredAtMs)
    if (near?.startsAtMs === startsAtMs && near.deploymentId === deploymentId) {
      addRequest(near.rollup, served)
      return near
    }
    const key = rollupKeyText({ deploymentId, span: 'minute', startsAtMs })
    const found = this.minutes.get(key)
    if (found !== undefined) {
      addRequest(found.rollup, served)
      return found
    }
    const added = { deploymentId, span: 'minute', startsAtMs, rollup: makeRollup(served) } as const
    this.minutes.set(key, added)
    return added
  }

  minuteRollups(): KeyedRollup[] {
    return [...this.minutes.values()]
  }
}

/** Merges rollups into those of longer spans. */
export function merged(parts: readonly KeyedRollup[], span: Span): KeyedRollup[] {
  const wholes = new Map<string, KeyedRollup>()
  mergeInto(wholes, parts, span)
  return [...wholes.values()]
}

/** Merges rollups into those of longer spans, which are kept by the text of their key. */
export function mergeInto(
  wholes: Map<string, KeyedRollup>,
  parts: readonly KeyedRollup[],
  span: Span,
): void {
  for (const { deploymentId, startsAtMs, rollup } of parts) {
    const key = { deploymentId, span, startsAtMs: spanStart(span, startsAtMs) }
    const found = wholes.get(rollupKeyText(key))
    if (found !== undefined) mergeRollup(found.rollup, rollup)
    else wholes.set(rollupKeyText(key), { ...key, rollup: copyRollup(rollup) })
  }
}

/** The key as one text. Unique, because ids contain no blank. */
export function rollupKeyText({ deploymentId, span, startsAtMs }: RollupKey): string {
  return `${deploymentId} ${span} ${startsAtMs}`
}
