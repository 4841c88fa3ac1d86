import type { CompiledFeature, CompiledModel } from './compile.ts'
import type { Interval } from './interval.ts'

/** Points of the numbers in a range, which is closed at both ends. */
export interface IntervalRule extends Interval {
  readonly points: number
}

/** Points of the texts that are equal to one of these. */
export interface CategoryRule {
  readonly texts: readonly string[]
  readonly points: number
}

/** What scoring does with a value of one feature, whatever the tables look like that it does it with. */
export interface FeatureRule {
  readonly name: string
  readonly isNumeric: boolean
  /** Points of an absent value. */
  readonly missingPoints: number
  /** Points of a value that matches nothing below. */
  readonly unmatchedPoints: number
  /** Of a numeric feature: disjoint, upwards. */
  readonly intervals: readonly IntervalRule[]
  /** Of a categorical feature: no text in two of them, in spec order. */
  readonly categories: readonly CategoryRule[]
}

/** Tells the rules of a compiled model, in spec order, for whoever writes them in another language. */
export function rulesOf(model: CompiledModel): FeatureRule[] {
  const { points } = model
  return model.features.map((feature) => ({
    name: feature.name,
    isNumeric: feature.isNumeric,
    missingPoints: points[feature.missingSlot]!,
    unmatchedPoints: points[feature.unmatchedSlot]!,
    intervals: intervalsOf(model, feature),
    categories: categoriesOf(model, feature),
  }))
}

function intervalsOf(model: CompiledModel, feature: CompiledFeature): IntervalRule[] {
  return Array.from({ length: feature.intervals }, (_, interval) => {
    const at = feature.intervalStart + interval
    const points = model.points[at + feature.intervalSlot]!
    return { low: model.intervalLow[at]!, high: model.intervalHigh[at]!, points }
  })
}

/** The text of the Missing bin is left out: it has the points of an unmatched value. */
function categoriesOf(model: CompiledModel, feature: CompiledFeature): CategoryRule[] {
  const missingBin = model.binOfSlot[feature.missingSlot]!
  const textsOfSlot = new Map<number, string[]>()
  for (const [text, slot] of feature.categories.map) {
    if (missingBin !== -1 && model.binOfSlot[slot] === missingBin) continue
    const texts = textsOfSlot.get(slot)
    if (texts === undefined) textsOfSlot.set(slot, [text])
    else texts.push(text)
  }
  return [...textsOfSlot].map(([slot, texts]) => ({ texts, points: model.points[slot]! }))
}
