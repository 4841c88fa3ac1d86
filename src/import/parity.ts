import { compileModel, ScoreSheet, scoreApplicant } from '../engine/index.ts'
import { hasWholePoints, type ImportedSpec, roundingMax } from './build.ts'
import type { SampleRow } from './sample.ts'

/** What a comparison of the engine with the source tool came to. */
export interface Parity {
  /** Whether every row agrees: in its score, and in points and probability of default where it has them. */
  readonly agrees: boolean
  readonly rows: number
  /** Rows that agree, and whose scores are the same to the bit. */
  readonly equal: number
  /** Further rows that differ by no more than sums of doubles in another order do. */
  readonly withinRounding: number
  /** Further rows that differ by no more than the tolerance. */
  readonly withinTolerance: number
  readonly differing: number
  /** Largest difference of scores, in points. */
  readonly largestDifference: number
  /** In points. */
  readonly tolerance: number
  /** Features whose points were compared one by one. */
  readonly comparedFeatures: number
  /** Largest difference of the probabilities of default; null where the sample has none. */
  readonly largestPdDifference: number | null
  /** The first rows that differ. */
  readonly differences: readonly Difference[]
}

export interface Difference {
  /** Where the row stands in the sample. */
  readonly path: string
  readonly id: string | null
  readonly expectedScore: number
  readonly actualScore: number
  /** Null where the sample has none. */
  readonly expectedPd: number | null
  readonly actualPd: number
  /** Those whose points differ; where none does, those that the sample has no points of. */
  readonly features: readonly FeatureDifference[]
}

export interface FeatureDifference {
  readonly feature: string
  /** The bin as the source tool calls it; null where none matched. */
  readonly bin: string | null
  /** Null where the sample has no points. */
  readonly expectedPoints: number | null
  readonly actualPoints: number
}

const DIFFERENCES_MAX = 20
/** What tools that compute a probability in another way are off at most. */
const PD_ROUNDING = 1e-9
/** Half the distance between 1 and the next double. */
const UNIT_ROUNDOFF = 2 ** -53

/**
 * Scores the applicants of a sample, and compares with what the source tool gave them.
 *
 * Two sums of the same n doubles in different orders lie within 2 (n - 1) u sum|x| of each other, u being
 * 2^-53: such a difference is counted apart, and agrees. A probability of default agrees within its last
 * printed digit, and what the tolerance, and points that are whole numbers, can change.
 *
 * @param tolerance in points; above 0 for scores that the sample has rounded
 * @source N. Higham, Accuracy and Stability of Numerical Algorithms (SIAM, 2002), 4.2
 */
export function compare(
  spec: ImportedSpec,
  sample: readonly SampleRow[],
  tolerance: number,
): Parity {
  const model = compileModel(spec)
  const sheet = new ScoreSheet(model)
  const pdPoints = Math.max(tolerance, hasWholePoints(spec) ? roundingMax(spec.features.length) : 0)
  const tally = { equal: 0, withinRounding: 0, withinTolerance: 0, differing: 0 }
  const differences: Difference[] = []
  let largestDifference = 0
  let largestPdDifference: number | null = null
  for (const row of sample) {
    scoreApplicant(row.applicant, sheet)
    const distance = Math.abs(sheet.score - row.score)
    largestDifference = Math.max(largestDifference, distance)
    if (row.pd !== null) {
      largestPdDifference = Math.max(largestPdDifference ?? 0, Math.abs(sheet.pd - row.pd))
    }
    const differing = differingFeatures(spec, sheet, row, tolerance)
    const agrees = distance <= Math.max(tolerance, roundingOf(sheet)) && hasPd(sheet, row, pdPoints)
    if (!agrees || differing.length > 0) {
      tally.differing++
      if (differences.length < DIFFERENCES_MAX) {
        differences.push(differenceOf(spec, sheet, row, differing))
      }
    } else if (distance === 0) tally.equal++
    else if (distance <= roundingOf(sheet)) tally.withinRounding++
    else tally.withinTolerance++
  }
  const [first] = sample
  return {
    ...{ agrees: tally.differing === 0, rows: sample.length, ...tally },
    ...{ largestDifference, largestPdDifference, tolerance, differences },
    comparedFeatures: first?.points.filter((points) => points !== null).length ?? 0,
  }
}

/** Whether the probability of default is the row's, for a score that may be `points` off. */
function hasPd({ model, score, pd }: ScoreSheet, row: SampleRow, points: number): boolean {
  if (row.pd === null) return true
  const { factor, offset } = model.scale
  const changes = [score - points, score + points].map((other) =>
    Math.abs(1 / (1 + Math.exp((other - offset) / factor)) - pd),
  )
  return Math.abs(pd - row.pd) <= Math.max(...changes, 0) + Math.max(row.pdRounding, PD_ROUNDING)
}

/** The most that the order of the sum can change. */
function roundingOf(sheet: ScoreSheet): number {
  const count = sheet.model.featureNames.length
  let sum = Math.abs(sheet.model.basePoints)
  for (let feature = 0; feature < count; feature++) sum += Math.abs(sheet.pointsOf(feature))
  return 2 * count * UNIT_ROUNDOFF * sum
}

function differingFeatures(
  spec: ImportedSpec,
  sheet: ScoreSheet,
  row: SampleRow,
  tolerance: number,
): FeatureDifference[] {
  const found: FeatureDifference[] = []
  for (const [feature, expected] of row.points.entries()) {
    if (expected === null || Math.abs(sheet.pointsOf(feature) - expected) <= tolerance) continue
    found.push(featureOf(spec, sheet, feature, expected))
  }
  return found
}

function featureOf(
  spec: ImportedSpec,
  sheet: ScoreSheet,
  feature: number,
  expectedPoints: number | null,
): FeatureDifference {
  const { name = '', bins = [] } = spec.features[feature] ?? {}
  return {
    feature: name,
    bin: bins[sheet.binOf(feature)]?.label ?? null,
    expectedPoints,
    actualPoints: sheet.pointsOf(feature),
  }
}

function differenceOf(
  spec: ImportedSpec,
  sheet: ScoreSheet,
  row: SampleRow,
  differing: readonly FeatureDifference[],
): Difference {
  const unsaid = [...row.points.keys()].filter((feature) => row.points[feature] === null)
  return {
    path: row.path,
    id: row.id,
    expectedScore: row.score,
    actualScore: sheet.score,
    expectedPd: row.pd,
    actualPd: sheet.pd,
    features:
      differing.length > 0
        ? differing
        : unsaid.map((feature) => featureOf(spec, sheet, feature, null)),
  }
}
