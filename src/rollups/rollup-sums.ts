import type { LoggedRecord } from './drain.ts'
import { addRequest, copyOf, mergeRollup, type Rollup, rollupOf } from './rollup.ts'
import { SPANS, type Span, spanStart } from './spans.ts'

/** The row of a rollup. */
export interface Place {
  readonly deploymentId: string
  readonly span: Span
  readonly startsAtMs: number
}

export interface PlacedRollup extends Place {
  readonly rollup: Rollup
}

/** Sums up requests by deployment and time. */
export class RollupSums {
  records = 0
  /** Of all models. */
  results = 0
  private readonly minutes = new Map<string, PlacedRollup>()
  private last: PlacedRollup | undefined

  /** A request without applicants adds to no rollup. */
  add({ record, served }: LoggedRecord): void {
    this.records++
    this.results += served.scores.length * record.modelCount
    if (served.scores.length === 0) return
    const { deploymentId } = record
    const startsAtMs = spanStart('minute', served.scoredAtMs)
    // Nearly always the same as of the record before.
    if (this.last?.deploymentId !== deploymentId || this.last.startsAtMs !== startsAtMs) {
      this.last = this.minutes.get(placeText({ deploymentId, span: 'minute', startsAtMs }))
    }
    if (this.last !== undefined) addRequest(this.last.rollup, served)
    else {
      this.last = { deploymentId, span: 'minute', startsAtMs, rollup: rollupOf(served) }
      this.minutes.set(placeText(this.last), this.last)
    }
  }

  /** The minutes, and the hours and days that they add up to. */
  placed(): PlacedRollup[] {
    const minutes = [...this.minutes.values()]
    const hours = merged(minutes, SPANS[1])
    return [...minutes, ...hours, ...merged(hours, SPANS[2])]
  }
}

function merged(parts: readonly PlacedRollup[], span: Span): PlacedRollup[] {
  const wholes = new Map<string, PlacedRollup>()
  for (const { deploymentId, startsAtMs, rollup } of parts) {
    const place = { deploymentId, span, startsAtMs: spanStart(span, startsAtMs) }
    const held = wholes.get(placeText(place))
    if (held !== undefined) mergeRollup(held.rollup, rollup)
    else wholes.set(placeText(place), { ...place, rollup: copyOf(rollup) })
  }
  return [...wholes.values()]
}

/** Ids hold no blank. */
export function placeText({ deploymentId, span, startsAtMs }: Place): string {
  return `${deploymentId} ${span} ${startsAtMs}`
}
