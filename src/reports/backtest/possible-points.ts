import type { FeatureRule } from '../../engine/index.ts'
import { nextUp } from '../../engine/index.ts'
import type { NumberRange, ValueSet } from './value-set.ts'

/** Least and most points that a feature can give. */
export interface PointsRange {
  readonly low: number
  readonly high: number
}

/** The points that a feature gives for values of a set; both ends are given for some value. */
export function computePoints(rule: FeatureRule, values: ValueSet): PointsRange {
  const possible = [
    ...(values.missing ? [rule.missingPoints] : []),
    ...(rule.isNumeric ? numericPoints(rule, values) : textPoints(rule, values)),
  ]
  // Nothing is possible if two logged models contradict each other: then nothing is known.
  const points = possible.length === 0 ? allPoints(rule) : possible
  return {
    low: points.reduce((least, one) => Math.min(least, one), Infinity),
    high: points.reduce((most, one) => Math.max(most, one), -Infinity),
  }
}

function numericPoints(rule: FeatureRule, { numbers, texts }: ValueSet): number[] {
  const points = numbers.flatMap((range) => pointsInRange(rule, range))
  const hasText = texts.isComplement || texts.texts.size > 0
  return hasText ? [...points, rule.unmatchedPoints] : points
}

function pointsInRange({ intervals, unmatchedPoints }: FeatureRule, range: NumberRange): number[] {
  const points: number[] = []
  let from = range.low
  for (const { low, high, points: own } of intervals) {
    if (high < from || low > range.high) continue
    if (low > from) points.push(unmatchedPoints)
    points.push(own)
    if (high >= range.high) return points
    from = nextUp(high)
  }
  // No number is infinite: a range that begins beyond the largest one is empty.
  return from === Infinity ? points : [...points, unmatchedPoints]
}

function textPoints({ categories, unmatchedPoints }: FeatureRule, { numbers, texts }: ValueSet) {
  if (numbers.length > 0) return [...categories.map(({ points }) => points), unmatchedPoints]
  const { isComplement, texts: set } = texts
  const points: number[] = []
  let known = 0
  for (const { texts: own, points: given } of categories) {
    const inSet = own.filter((text) => set.has(text)).length
    known += inSet
    if (isComplement ? inSet < own.length : inSet > 0) points.push(given)
  }
  // A text that is in no category is always possible in a complement.
  return isComplement || known < set.size ? [...points, unmatchedPoints] : points
}

function allPoints({ intervals, categories, missingPoints, unmatchedPoints }: FeatureRule) {
  return [...intervals, ...categories]
    .map(({ points }) => points)
    .concat(missingPoints, unmatchedPoints)
}
