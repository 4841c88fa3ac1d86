import { type CompiledModel, SLOT_FIRST_BIN, SLOT_MISSING, SLOT_UNMATCHED } from './compile.ts'
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
  const { points, slotStart } = model
  return model.featureNames.map((name, feature) => ({
    name,
    isNumeric: model.isNumeric[feature] === 1,
    missingPoints: points[slotStart[feature]! + SLOT_MISSING]!,
    unmatchedPoints: points[slotStart[feature]! + SLOT_UNMATCHED]!,
    intervals: intervalsOf(model, feature),
    categories: categoriesOf(model, feature),
  }))
}

function intervalsOf(model: CompiledModel, feature: number): IntervalRule[] {
  const intervals: IntervalRule[] = []
  for (let at = model.intervalStart[feature]!; at < model.intervalStart[feature + 1]!; at++) {
    const points = model.points[model.intervalSlot[at]!]!
    intervals.push({ low: model.intervalLow[at]!, high: model.intervalHigh[at]!, points })
  }
  return intervals
}

/** The text of the Missing bin is left out: it has the points of an unmatched value. */
function categoriesOf(model: CompiledModel, feature: number): CategoryRule[] {
  const missingSlot = model.slotStart[feature]! + SLOT_FIRST_BIN + model.missingBin[feature]!
  const textsOfSlot = new Map<number, string[]>()
  for (const [text, slot] of model.categories.maps[feature]!) {
    if (model.missingBin[feature] !== -1 && slot === missingSlot) continue
    const texts = textsOfSlot.get(slot)
    if (texts === undefined) textsOfSlot.set(slot, [text])
    else texts.push(text)
  }
  return [...textsOfSlot].map(([slot, texts]) => ({ texts, points: model.points[slot]! }))
}
