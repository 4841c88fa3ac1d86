import { compileModel, ModelScore, type ScorecardSpec, scoreApplicant } from '../../engine/index.ts'
import type { ScoredSample } from '../../reports/monitoring/sample-counts.ts'
import { hasWholePoints, roundingMax } from './build/build.ts'
import { binLabel, type Coverage, CoverageTally } from './coverage.ts'
import { DifferenceFinder } from './finding.ts'
import type { Sample } from './sample.ts'
import type { SampleRow } from './sample-json.ts'
import { checkScale, roundingMeanMax, type ScaleCheck } from './scale-check.ts'

/** The result of comparing the engine with the source tool. */
export interface Parity {
  /**
   * True if every row agrees in its score and, if it has them, in points and probability, and the
   * mean of all does where each may be off by a rounding.
   */
  readonly agrees: boolean
  readonly rows: number
  /** Rows that agree and whose scores are equal to the bit. */
  readonly equal: number
  /** Further rows whose difference is explained by adding doubles in another order. */
  readonly withinRounding: number
  /** Further rows whose difference is within the tolerance. */
  readonly withinTolerance: number
  readonly differing: number
  /** Number of rows that differ in each of the three; a row can count several times. */
  readonly differingBy: { readonly score: number; readonly points: number; readonly pd: number }
  /** Rows whose probability of default was compared. */
  readonly pdRows: number
  /** True if the probability of every row was compared: scores say nothing about probabilities. */
  readonly isPdChecked: boolean
  /** True if the scale was fitted to this sample, which then can't prove the probabilities. */
  readonly isPdFitted: boolean
  /** Largest difference of scores, in points. */
  readonly largestDifference: number
  /** In points. */
  readonly tolerance: number
  readonly comparedFeatures: number
  /** Largest difference of the probabilities of default; null when none was compared. */
  readonly largestPdDifference: number | null
  /** Mean of the engine's scores minus those of the sample, in points. */
  readonly meanDifference: number
  /** Largest mean that the rounding of points explains; null where nothing was rounded. */
  readonly meanDifferenceMax: number | null
  /** Mean probabilities of the rows that have one; null if none was compared. */
  readonly meanPd: { readonly sample: number; readonly engine: number } | null
  /** Null unless the card has whole points, whose rounding could hide another scale. */
  readonly scale: ScaleCheck | null
  readonly coverage: Coverage
  /**
   * The trait that all rows that differ have in common, as a sentence without its point; null if
   * nothing.
   */
  readonly finding: string | null
  /** The first rows that differ. */
  readonly differences: readonly Difference[]
  /** The first of the rows `withinRounding`. */
  readonly rounded: readonly RoundedRow[]
}

/** The compared columns, and how the engine scored it. */
interface Compared {
  readonly parity: Parity
  readonly scored: ScoredSample
}

/** A row whose score is another double, because its points were added in another order. */
export interface RoundedRow {
  readonly path: string
  readonly id: string | null
  readonly expectedScore: number
  readonly actualScore: number
  /** Steps from one double to the next that lie between the scores. */
  readonly ulps: number
}

export interface Difference {
  /** Position of the row in the sample. */
  readonly path: string
  readonly id: string | null
  readonly expectedScore: number
  readonly actualScore: number
  /** Null when the sample has no probability. */
  readonly expectedPd: number | null
  /** Null when the specification has no scale. */
  readonly actualPd: number | null
  /** Features whose points differ; if none do, the features without points in the sample. */
  readonly features: readonly FeatureDifference[]
}

interface FeatureDifference {
  readonly feature: string
  /** The bin as the source tool labels it; null when no bin matched. */
  readonly bin: string | null
  /** Null when the sample has no points of the feature. */
  readonly expectedPoints: number | null
  readonly actualPoints: number
}

const DIFFERENCES_MAX = 20
const ROUNDED_MAX = 1_000
/** Largest difference of tools that compute the probability in another way. */
const PD_ROUNDING = 1e-9
/** Half the distance between 1 and the next double. */
const UNIT_ROUNDOFF = 2 ** -53

/**
 * Scores the applicants of a sample and compares the results with those of the source tool.
 *
 * Two sums of the same n doubles in different orders lie within 2 (n - 1) u sum|x| of each other, u
 * being 2^-53: such a difference is counted apart, and agrees. A probability of default agrees
 * within its last printed digit, and what the tolerance, and points that are whole numbers, can
 * change.
 *
 * @param tolerance in points; above 0 when the sample has rounded scores
 * @param isFitted whether the scale was fitted to this sample, and so contains its rounding
 * @source N. Higham, Accuracy and Stability of Numerical Algorithms (SIAM, 2002), 4.2
 */
export function compare(
  spec: ScorecardSpec,
  sample: Sample,
  { tolerance, isFitted = false }: { readonly tolerance: number; readonly isFitted?: boolean },
): Compared {
  const model = compileModel(spec)
  const modelScore = new ModelScore(model)
  const isWhole = hasWholePoints(spec)
  const pdPoints = Math.max(tolerance, isWhole ? roundingMax(spec.features.length) : 0)
  const reached = new CoverageTally(spec, model)
  const finder = new DifferenceFinder(spec, model)
  const scores: number[] = []
  const sums = { difference: 0, samplePd: 0, enginePd: 0 }
  let comparedFeatures = 0
  const tally = { equal: 0, withinRounding: 0, withinTolerance: 0, differing: 0 }
  const differingBy = { score: 0, points: 0, pd: 0 }
  const differences: Difference[] = []
  const rounded: RoundedRow[] = []
  let pdRows = 0
  let largestDifference = 0
  let largestPdDifference: number | null = null
  for (const row of sample) {
    scoreApplicant(row.applicant, modelScore)
    const distance = Math.abs(modelScore.score - row.score)
    if (scores.length === 0) comparedFeatures = row.points.filter((one) => one !== null).length
    reached.add(modelScore, row.applicant)
    scores.push(modelScore.score)
    sums.difference += modelScore.score - row.score
    largestDifference = Math.max(largestDifference, distance)
    if (row.pd !== null && model.scale !== null) {
      pdRows++
      sums.samplePd += row.pd
      sums.enginePd += modelScore.pd
      largestPdDifference = Math.max(largestPdDifference ?? 0, Math.abs(modelScore.pd - row.pd))
    }
    const differing = differingFeatures(spec, modelScore, row, tolerance)
    const hasScore = distance <= Math.max(tolerance, computeRounding(modelScore))
    const rounding = (isFitted ? 2 : 1) * sample.pdRounding
    const agreesInPd = hasPd(modelScore, row, { points: pdPoints, rounding })
    if (!hasScore) differingBy.score++
    if (differing.length > 0) differingBy.points++
    if (!agreesInPd) differingBy.pd++
    if (!hasScore || !agreesInPd || differing.length > 0) {
      tally.differing++
      finder.add(modelScore, modelScore.score - row.score)
      if (differences.length < DIFFERENCES_MAX) {
        differences.push(makeDifference(spec, modelScore, row, differing))
      }
    } else if (distance === 0) tally.equal++
    else if (distance <= computeRounding(modelScore)) {
      tally.withinRounding++
      if (rounded.length < ROUNDED_MAX) rounded.push(roundedRow(row, modelScore.score))
    } else tally.withinTolerance++
  }
  const rows = sample.count
  const meanDifference = sums.difference / rows
  const scale = isWhole && !isFitted ? checkScale(spec, model, sample, scores) : null
  const isRounded = tolerance > 0 || scale !== null
  const meanDifferenceMax = isRounded ? roundingMeanMax(model, reached.rows, rows) : null
  const isMeanOff = [meanDifference, scale?.meanPoints ?? 0].some(
    (mean) => Math.abs(mean) > (meanDifferenceMax ?? Number.POSITIVE_INFINITY),
  )
  const parity: Parity = {
    agrees: tally.differing === 0 && !isMeanOff,
    rows,
    ...tally,
    differingBy,
    pdRows,
    isPdChecked: pdRows === rows,
    isPdFitted: isFitted,
    largestDifference,
    largestPdDifference,
    tolerance,
    meanDifference,
    meanDifferenceMax,
    meanPd:
      pdRows === 0 ? null : { sample: sums.samplePd / pdRows, engine: sums.enginePd / pdRows },
    scale,
    coverage: reached.toCoverage(),
    finding: finder.find(reached.rows, rows),
    differences,
    rounded,
    comparedFeatures,
  }
  return { parity, scored: { rowsOfSlots: reached.rows, scores } }
}

/** Tells whether the probability agrees with the row's, for a score that may differ by `points`. */
function hasPd(
  { model, score, pd }: ModelScore,
  row: SampleRow,
  { points, rounding }: { readonly points: number; readonly rounding: number },
): boolean {
  if (row.pd === null || model.scale === null) return true
  const { factor, offset } = model.scale
  const changes = [score - points, score + points].map((other) =>
    Math.abs(1 / (1 + Math.exp((other - offset) / factor)) - pd),
  )
  return Math.abs(pd - row.pd) <= Math.max(...changes, 0) + Math.max(rounding, PD_ROUNDING)
}

function roundedRow({ path, id, score }: SampleRow, actualScore: number): RoundedRow {
  const ulps = ulpsBetween(score, actualScore)
  return { path, id, expectedScore: score, actualScore, ulps }
}

/** Largest change of a score, in points, from another order of the sum. */
function computeRounding(modelScore: ModelScore): number {
  const count = modelScore.model.featureNames.length
  let sum = Math.abs(modelScore.model.basePoints)
  for (let feature = 0; feature < count; feature++) sum += Math.abs(modelScore.readPoints(feature))
  return 2 * count * UNIT_ROUNDOFF * sum
}

function differingFeatures(
  spec: ScorecardSpec,
  modelScore: ModelScore,
  row: SampleRow,
  tolerance: number,
): FeatureDifference[] {
  const found: FeatureDifference[] = []
  for (const [feature, expected] of row.points.entries()) {
    if (expected === null || Math.abs(modelScore.readPoints(feature) - expected) <= tolerance)
      continue
    found.push(makeFeatureDifference(spec, modelScore, feature, expected))
  }
  return found
}

function makeFeatureDifference(
  spec: ScorecardSpec,
  modelScore: ModelScore,
  feature: number,
  expectedPoints: number | null,
): FeatureDifference {
  const { name = '', bins = [] } = spec.features[feature] ?? {}
  return {
    feature: name,
    bin: binLabel(bins[modelScore.readBin(feature)]),
    expectedPoints,
    actualPoints: modelScore.readPoints(feature),
  }
}

function makeDifference(
  spec: ScorecardSpec,
  modelScore: ModelScore,
  row: SampleRow,
  differing: readonly FeatureDifference[],
): Difference {
  const unsaid = [...row.points.keys()].filter((feature) => row.points[feature] === null)
  return {
    path: row.path,
    id: row.id,
    expectedScore: row.score,
    actualScore: modelScore.score,
    expectedPd: row.pd,
    actualPd: Number.isNaN(modelScore.pd) ? null : modelScore.pd,
    features:
      differing.length > 0
        ? differing
        : unsaid.map((feature) => makeFeatureDifference(spec, modelScore, feature, null)),
  }
}

const bits = new DataView(new ArrayBuffer(8))

/**
 * Counts the steps from one double to another: 0 for equal ones, 1 for neighbours.
 *
 * @param one finite, as `other`
 * @returns units in the last place; near 0, where doubles are dense, it is large for a small
 *   difference
 */
export function ulpsBetween(one: number, other: number): number {
  const distance = findPosition(one) - findPosition(other)
  return Number(distance < 0n ? -distance : distance)
}

/** The number of doubles from 0 to this one, negative below 0. */
function findPosition(value: number): bigint {
  bits.setFloat64(0, value)
  const read = bits.getBigInt64(0)
  // The sign is a bit of its own, so that negative numbers count upwards.
  return read < 0n ? -BigInt.asUintN(63, read) : read
}
