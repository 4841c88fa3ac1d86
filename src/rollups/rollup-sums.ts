import {
  addRequest,
  copyOf,
  mergeRollup,
  type Rollup,
  rollupOf,
  type ServedResults,
} from './rollup.ts'
import { SPANS, type Span, spanStart } from './spans.ts'

/** Identifies a rollup of one writer. */
export interface RollupKey {
  readonly deploymentId: string
  readonly span: Span
  readonly startsAtMs: number
}

export interface KeyedRollup extends RollupKey {
  readonly rollup: Rollup
}

/** A logged request: the facts of its record that the sums need, and the results it served. */
export interface SummedRequest {
  readonly record: { readonly deploymentId: string; readonly modelCount: number }
  readonly served: ServedResults
}

/** Sums up requests by deployment and time. */
export class RollupSums {
  records = 0
  /** Results of all models, served or not. */
  results = 0
  private readonly minutes = new Map<string, KeyedRollup>()
  private last: KeyedRollup | undefined

  /** A request without applicants adds to no rollup. */
  add({ record, served }: SummedRequest): void {
    this.records++
    this.results += served.scores.length * record.modelCount
    if (served.scores.length === 0) return
    const { deploymentId } = record
    const startsAtMs = spanStart('minute', served.scoredAtMs)
    // Nearly always the record before has the same deployment and minute.
    if (this.last?.deploymentId !== deploymentId || this.last.startsAtMs !== startsAtMs) {
      this.last = this.minutes.get(rollupKeyText({ deploymentId, span: 'minute', startsAtMs }))
    }
    if (this.last !== undefined) addRequest(this.last.rollup, served)
    else {
      this.last = { deploymentId, span: 'minute', startsAtMs, rollup: rollupOf(served) }
      this.minutes.set(rollupKeyText(this.last), this.last)
    }
  }

  /** The rollups of all minutes. */
  minuteRollups(): KeyedRollup[] {
    return [...this.minutes.values()]
  }

  /** The rollups of all minutes, and of the hours and days that they add up to. */
  rollups(): KeyedRollup[] {
    const minutes = this.minuteRollups()
    const hours = merged(minutes, SPANS[1])
    return [...minutes, ...hours, ...merged(hours, SPANS[2])]
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
    else wholes.set(rollupKeyText(key), { ...key, rollup: copyOf(rollup) })
  }
}

/** The key as one text. Unique, because ids contain no blank. */
export function rollupKeyText({ deploymentId, span, startsAtMs }: RollupKey): string {
  return `${deploymentId} ${span} ${startsAtMs}`
}
