import { type FeatureRule, listRules, nextUp } from '../../engine/index.ts'
import type { Card, CellColumns } from '../../log/index.ts'
import {
  ANY_VALUE,
  intersection,
  type NumberRange,
  ofOtherType,
  type ValueSet,
  valuesOfCell,
} from './value-set.ts'

/** Points that a feature of the candidate can give for an applicant. */
export interface FeatureMap {
  readonly name: string
  /** True if no logged model has the feature. */
  readonly isImpossible: boolean
  of(row: number): PointsRange
}

/** More models of the same feature narrow little, and their cells must fit in one key. */
const SOURCES_MAX = 4
/** Above the number of cells that a feature can have. */
const CELLS_MAX = 1_100

interface Source {
  readonly position: number
  readonly feature: number
  readonly card: Card
}

/**
 * The maps of all features of a candidate, for requests that the same models scored. What follows
 * from a set of cells is computed when it is first met.
 */
export class CellMaps {
  private readonly candidate: Card
  private readonly rules: readonly FeatureRule[]
  private readonly known = new Map<string, Map<number, PointsRange>[]>()

  /** @param rules of the candidate */
  constructor(candidate: Card, rules = listRules(candidate.model)) {
    this.candidate = candidate
    this.rules = rules
  }

  /** @param cards those of the models, in their order; null for one that can't be read */
  makeMaps(columns: CellColumns, cards: readonly (Card | null)[]): FeatureMap[] {
    const name = columns.models.map(({ modelId }) => modelId).join()
    let ranges = this.known.get(name)
    if (ranges === undefined) {
      ranges = this.rules.map(() => new Map())
      this.known.set(name, ranges)
    }
    const ofFeatures = ranges
    return this.rules.map((rule, index) => {
      const found = this.listSources(index, cards)
      return featureMap(rule, columns, found, ofFeatures[index] ?? new Map())
    })
  }

  /** Logged features of the same name: those of the same type, or else one of the other. */
  private listSources(index: number, cards: readonly (Card | null)[]) {
    const wanted = this.candidate.spec.features[index]
    const all = cards.flatMap((card, position): Source[] => {
      const feature = card?.model.featureIndex.get(wanted?.name ?? '') ?? -1
      return card === null || feature < 0 ? [] : [{ position, feature, card }]
    })
    const readType = ({ card, feature }: Source) => card.spec.features[feature]?.type
    const same = all.filter((source) => readType(source) === wanted?.type)
    const isSame = same.length > 0
    return { isSame, sources: (isSame ? same : all.slice(0, 1)).slice(0, SOURCES_MAX) }
  }
}

function featureMap(
  rule: FeatureRule,
  { models }: CellColumns,
  { isSame, sources }: { readonly isSame: boolean; readonly sources: readonly Source[] },
  ranges: Map<number, PointsRange>,
): FeatureMap {
  const { name } = rule
  if (sources.length === 0) {
    const any = computePoints(rule, ANY_VALUE)
    return { name, isImpossible: true, of: () => any }
  }
  const scored = sources.map(({ position }) => models[position]?.scored)
  const columns = sources.map(({ position, feature }) => models[position]?.cells[feature])
  const readRange = (row: number): PointsRange => {
    const sets: ValueSet[] = []
    for (const [index, { card, feature }] of sources.entries()) {
      const spec = card.spec.features[feature]
      if (scored[index]?.[row] !== 1 || spec === undefined) continue
      const set = valuesOfCell(spec, columns[index]?.[row] ?? 0)
      sets.push(isSame ? set : ofOtherType(set))
    }
    return computePoints(rule, sets.length === 0 ? ANY_VALUE : sets.reduce(intersection))
  }
  const of = (row: number): PointsRange => {
    let key = 0
    for (let index = 0; index < columns.length; index++) {
      // 0 is a model that failed.
      const cell = scored[index]?.[row] === 1 ? (columns[index]?.[row] ?? 0) + 1 : 0
      key = key * CELLS_MAX + cell
    }
    let range = ranges.get(key)
    if (range === undefined) {
      range = readRange(row)
      ranges.set(key, range)
    }
    return range
  }
  return { name, isImpossible: false, of }
}

/** Least and most points that a feature can give. */
interface PointsRange {
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
