import type { CompiledFeature, CompiledModel } from './compile.ts'
import type { Interval } from './interval.ts'

/** Points of the numbers in a range that is closed at both ends. */
export interface IntervalRule extends Interval {
  readonly points: number
  /** Slot of these numbers in the compiled model. */
  readonly slot: number
}

/** Points of every text that equals one of `texts`. */
export interface CategoryRule {
  readonly texts: readonly string[]
  readonly points: number
  /** Slot of these texts in the compiled model. */
  readonly slot: number
}

/** The way scoring treats the values of one feature, independent of the compiled tables. */
export interface FeatureRule {
  readonly name: string
  readonly isNumeric: boolean
  /** Points of an absent value. */
  readonly missingPoints: number
  readonly missingSlot: number
  /** Points of a value that matches nothing below. */
  readonly unmatchedPoints: number
  readonly unmatchedSlot: number
  /** For a numeric feature: disjoint ranges in ascending order. */
  readonly intervals: readonly IntervalRule[]
  /** For a categorical feature: in spec order; no text is in two rules. */
  readonly categories: readonly CategoryRule[]
}

/** The rules of a compiled model in spec order, for writing them in another language. */
export function listRules(model: CompiledModel): FeatureRule[] {
  const { points } = model
  return model.features.map((feature) => ({
    name: feature.name,
    isNumeric: feature.isNumeric,
    missingPoints: points[feature.missingSlot]!,
    missingSlot: feature.missingSlot,
    // All slots of values that match no bin have the same points and bin.
    unmatchedPoints: points[feature.noBinSlot]!,
    unmatchedSlot: feature.noBinSlot,
    intervals: listIntervals(model, feature),
    categories: listCategories(model, feature),
  }))
}

function listIntervals(model: CompiledModel, feature: CompiledFeature): IntervalRule[] {
  return Array.from({ length: feature.intervals }, (_, interval) => {
    const at = feature.intervalStart + interval
    const slot = at + feature.intervalSlot
    const points = model.points[slot]!
    return { low: model.intervalLow[at]!, high: model.intervalHigh[at]!, points, slot }
  })
}

/** Leaves out the text of the Missing bin, which has the points of an unmatched value. */
function listCategories(model: CompiledModel, feature: CompiledFeature): CategoryRule[] {
  const missingBin = model.binOfSlot[feature.missingSlot]!
  const textsOfSlot = new Map<number, string[]>()
  for (const [text, slot] of feature.categories.map) {
    if (missingBin !== -1 && model.binOfSlot[slot] === missingBin) continue
    const texts = textsOfSlot.get(slot)
    if (texts === undefined) textsOfSlot.set(slot, [text])
    else texts.push(text)
  }
  return [...textsOfSlot].map(([slot, texts]) => ({ texts, points: model.points[slot]!, slot }))
}
