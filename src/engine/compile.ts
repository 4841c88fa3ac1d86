import { type CategoryTable, compileCategoryTable } from './category-table.ts'
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
const SLOT_FIRST_BIN = 2

/**
 * A feature laid out for scoring.
 *
 * An object rather than a row in each of a dozen typed arrays: V8 checks a typed array anew at each
 * access in a loop, ten instructions, and reads a property of an object it has checked with one.
 */
export interface CompiledFeature {
  readonly name: string
  /** Place in the spec. */
  readonly index: number
  readonly isNumeric: boolean
  readonly unmatchedSlot: number
  readonly missingSlot: number
  /** Place of the first interval; intervals are sorted. */
  readonly intervalStart: number
  /** Number of intervals, 0 for a categorical feature. */
  readonly intervals: number
  /** Slot of an interval less its place. */
  readonly intervalSlot: number
  readonly categories: CategoryTable
}

/**
 * A scorecard laid out for scoring; immutable, and safe to share between requests.
 *
 * A *slot* is one thing that can happen to a feature. The slots of all features stand in one row:
 * for each feature "a value that matches no bin", "no value", then its bins, those of a numeric
 * feature upwards. Scoring finds one slot for each feature; points, bin index and outcome all follow
 * from the slot.
 */
export interface CompiledModel {
  readonly name: string
  readonly version: string
  readonly specVersion: string
  readonly basePoints: number
  readonly featureNames: readonly string[]
  readonly featureIndex: ReadonlyMap<string, number>
  readonly features: readonly CompiledFeature[]
  /** First slot of each feature, then the number of all slots. */
  readonly slotStart: Int32Array
  /** Points of each slot. */
  readonly points: Float64Array
  /** Index in the spec of the bin whose points each slot takes, -1 for none. */
  readonly binOfSlot: Int16Array
  /** Ends of all intervals. */
  readonly intervalLow: Float64Array
  readonly intervalHigh: Float64Array
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
  const features: CompiledFeature[] = []
  const slotStart = [0]
  const points: number[] = []
  const binOfSlot: number[] = []
  const intervals: Interval[] = []
  for (const feature of spec.features) {
    const ofFeature = sortedIntervals(feature)
    const place = {
      index: features.length,
      firstSlot: binOfSlot.length,
      intervalStart: intervals.length,
      intervals: ofFeature.length,
    }
    features.push(compileFeature(feature, place))
    for (const bin of binsOfSlots(feature, ofFeature)) {
      binOfSlot.push(bin)
      points.push(feature.bins[bin]?.points ?? 0)
    }
    slotStart.push(binOfSlot.length)
    intervals.push(...ofFeature)
  }
  return {
    name: spec.name,
    version: spec.version,
    specVersion: spec.spec_version ?? DEFAULT_SPEC_VERSION,
    basePoints: spec.base_points,
    featureNames: features.map(({ name }) => name),
    featureIndex: new Map(features.map(({ name, index }) => [name, index])),
    features,
    slotStart: Int32Array.from(slotStart),
    points: Float64Array.from(points),
    binOfSlot: Int16Array.from(binOfSlot),
    intervalLow: Float64Array.from(intervals, (interval) => interval.low),
    intervalHigh: Float64Array.from(intervals, (interval) => interval.high),
    grades: compileGrades(spec.risk_grades ?? []),
    scale: compileScale(spec.scaling),
    sizeBytes: estimateBytes(spec.features),
  }
}

interface FeaturePlace {
  readonly index: number
  readonly firstSlot: number
  readonly intervalStart: number
  readonly intervals: number
}

function compileFeature(feature: FeatureSpec, place: FeaturePlace): CompiledFeature {
  const { index, firstSlot, intervalStart, intervals } = place
  const unmatchedSlot = firstSlot + SLOT_UNMATCHED
  const firstBinSlot = firstSlot + SLOT_FIRST_BIN
  return {
    name: asKey(feature.name),
    index,
    isNumeric: feature.type === 'numeric',
    unmatchedSlot,
    missingSlot: firstSlot + SLOT_MISSING,
    intervalStart,
    intervals,
    intervalSlot: firstBinSlot - intervalStart,
    categories: compileCategoryTable(slotsOfCategories(feature, firstBinSlot), unmatchedSlot),
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

/** An unmatched category takes the points of the Missing bin, an unmatched number takes none. */
function binsOfSlots(feature: FeatureSpec, intervals: readonly BinInterval[]): number[] {
  const missingBin = feature.bins.findIndex((_, bin) => isMissingBin(feature, bin))
  return feature.type === 'numeric'
    ? [-1, missingBin, ...intervals.map(({ bin }) => bin)]
    : [missingBin, missingBin, ...feature.bins.keys()]
}

interface BinInterval extends Interval {
  readonly bin: number
}

function sortedIntervals(feature: FeatureSpec): BinInterval[] {
  const intervals: BinInterval[] = []
  if (feature.type === 'categorical') return intervals
  for (let bin = 0; bin < feature.bins.length; bin++) {
    if (isMissingBin(feature, bin)) continue
    const interval = parseInterval(binText(feature, bin))
    if (typeof interval === 'string') {
      throw new EngineError('range_invalid', `bin ${bin} of ${feature.name} ${interval}`)
    }
    intervals.push({ ...interval, bin })
  }
  return intervals.sort((a, b) => a.low - b.low)
}

function slotsOfCategories(feature: FeatureSpec, firstBinSlot: number): Map<string, number> {
  const slots = new Map<string, number>()
  if (feature.type === 'numeric') return slots
  for (const [bin, { value }] of feature.bins.entries()) {
    for (const category of asParsed(value.split(CATEGORY_DELIMITER))) {
      slots.set(category, firstBinSlot + bin)
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
