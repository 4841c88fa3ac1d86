import { type CategoryTables, compileCategoryTables } from './category-table.ts'
import { EngineError } from './errors.ts'
import { compileGrades, type GradeTable } from './grades.ts'
import { type Interval, parseInterval } from './interval.ts'
import { compileScale, type Scale } from './scaling.ts'
import {
  CATEGORY_DELIMITER,
  DEFAULT_SPEC_VERSION,
  type FeatureSpec,
  MISSING,
  type ScorecardSpec,
} from './spec.ts'

/** Slots of each feature before those of its bins. */
export const SLOT_UNMATCHED = 0
export const SLOT_MISSING = 1
export const SLOT_FIRST_BIN = 2

/**
 * A scorecard laid out for scoring; immutable, and safe to share between requests.
 *
 * A *slot* is one thing that can happen to a feature. The slots of all features stand in one row:
 * for each feature "a value that matches no bin", "no value", then its bins in spec order. Scoring
 * finds one slot for each feature; points, bin index and outcome all follow from the slot.
 */
export interface CompiledModel {
  readonly name: string
  readonly version: string
  readonly specVersion: string
  readonly basePoints: number
  readonly featureNames: readonly string[]
  readonly featureIndex: ReadonlyMap<string, number>
  /** First slot of each feature, then the number of all slots. */
  readonly slotStart: Int32Array
  /** Points of each slot. */
  readonly points: Float64Array
  /** Index of the Missing bin of each feature, -1 without one. */
  readonly missingBin: Int32Array
  /** 1 for a numeric feature, 0 for a categorical one. */
  readonly isNumeric: Uint8Array
  readonly categories: CategoryTables
  /** First interval of each feature, then the number of all intervals. Intervals are sorted. */
  readonly intervalStart: Int32Array
  readonly intervalLow: Float64Array
  readonly intervalHigh: Float64Array
  readonly intervalSlot: Int32Array
  readonly grades: GradeTable
  readonly scale: Scale
  /** What the tables take in memory, roughly and rather too much than too little. */
  readonly sizeBytes: number
}

/**
 * Compiles a scorecard into flat tables.
 *
 * @param spec accepted by `checkSpec`
 * @throws EngineError for a spec that `checkSpec` would refuse in a range or its scaling
 */
export function compileModel(spec: ScorecardSpec): CompiledModel {
  const { features } = spec
  const slotStart = new Int32Array(features.length + 1)
  const intervals: SlottedInterval[] = []
  const intervalStart = new Int32Array(features.length + 1)
  for (const [index, feature] of features.entries()) {
    slotStart[index + 1] = slotStart[index]! + SLOT_FIRST_BIN + feature.bins.length
    if (feature.type === 'numeric') intervals.push(...sortedIntervals(feature, slotStart[index]!))
    intervalStart[index + 1] = intervals.length
  }
  return {
    name: spec.name,
    version: spec.version,
    specVersion: spec.spec_version ?? DEFAULT_SPEC_VERSION,
    basePoints: spec.base_points,
    featureNames: features.map((feature) => asKey(feature.name)),
    featureIndex: new Map(features.map((feature, index) => [feature.name, index])),
    slotStart,
    points: compilePoints(features, slotStart),
    missingBin: Int32Array.from(features, missingBinOf),
    isNumeric: Uint8Array.from(features, (feature) => (feature.type === 'numeric' ? 1 : 0)),
    categories: compileCategoryTables(
      features.map((feature, index) => slotsOfCategories(feature, slotStart[index]!)),
    ),
    intervalStart,
    intervalLow: Float64Array.from(intervals, (interval) => interval.low),
    intervalHigh: Float64Array.from(intervals, (interval) => interval.high),
    intervalSlot: Int32Array.from(intervals, (interval) => interval.slot),
    grades: compileGrades(spec.risk_grades ?? []),
    scale: compileScale(spec.scaling),
    sizeBytes: estimateBytes(features),
  }
}

/**
 * The same text, as V8 holds it where it is the name of a property: comparing it with a key of an
 * applicant is then comparing two addresses. For 20 features that is 0.16 us of 0.62.
 */
function asKey(name: string): string {
  return Object.keys({ [name]: null })[0]!
}

/** The text of a bin: its range or its categories. */
export function binText(feature: FeatureSpec, bin: number): string {
  return feature.type === 'numeric' ? feature.bins[bin]!.range : feature.bins[bin]!.value
}

/** A numeric range may stand in white space, a category is compared as it is. */
export function isMissingBin(feature: FeatureSpec, bin: number): boolean {
  const text = binText(feature, bin)
  return (feature.type === 'numeric' ? text.trim() : text) === MISSING
}

function missingBinOf(feature: FeatureSpec): number {
  return feature.bins.findIndex((_, bin) => isMissingBin(feature, bin))
}

/** An unmatched category takes the points of the Missing bin, an unmatched number takes none. */
function compilePoints(features: readonly FeatureSpec[], slotStart: Int32Array): Float64Array {
  const points = new Float64Array(slotStart[features.length]!)
  for (const [index, feature] of features.entries()) {
    const start = slotStart[index]!
    const missingPoints = feature.bins[missingBinOf(feature)]?.points ?? 0
    points[start + SLOT_UNMATCHED] = feature.type === 'categorical' ? missingPoints : 0
    points[start + SLOT_MISSING] = missingPoints
    for (const [bin, { points: binPoints }] of feature.bins.entries()) {
      points[start + SLOT_FIRST_BIN + bin] = binPoints
    }
  }
  return points
}

interface SlottedInterval extends Interval {
  readonly slot: number
}

function sortedIntervals(feature: FeatureSpec, start: number): SlottedInterval[] {
  const intervals: SlottedInterval[] = []
  for (let bin = 0; bin < feature.bins.length; bin++) {
    if (isMissingBin(feature, bin)) continue
    const interval = parseInterval(binText(feature, bin))
    if (typeof interval === 'string') {
      throw new EngineError('range_invalid', `bin ${bin} of ${feature.name} ${interval}`)
    }
    intervals.push({ ...interval, slot: start + SLOT_FIRST_BIN + bin })
  }
  return intervals.sort((a, b) => a.low - b.low)
}

function slotsOfCategories(feature: FeatureSpec, start: number): Map<string, number> {
  const slots = new Map<string, number>()
  if (feature.type === 'numeric') return slots
  for (const [bin, { value }] of feature.bins.entries()) {
    for (const category of asParsed(value.split(CATEGORY_DELIMITER))) {
      slots.set(category, start + SLOT_FIRST_BIN + bin)
    }
  }
  return slots
}

/**
 * The same texts, each laid out as one of an applicant is: characters in a row of its own. What
 * `split` cuts off stays a view of the whole, and to compare one V8 leaves its compiled code.
 */
function asParsed(texts: readonly string[]): string[] {
  return JSON.parse(JSON.stringify(texts))
}

/** Measured: about 60 bytes for a slot's numbers, 150 for a category beside its characters. */
function estimateBytes(features: readonly FeatureSpec[]): number {
  let bytes = 0
  for (const feature of features) {
    const slots = SLOT_FIRST_BIN + feature.bins.length
    bytes += 500 + slots * (60 + 2 * feature.name.length)
    if (feature.type === 'numeric') continue
    for (const { value } of feature.bins) {
      bytes += 2 * value.length + 150 * value.split(CATEGORY_DELIMITER).length
    }
  }
  return bytes
}
