import {
  chiSquaredQuantile,
  chiSquaredTail,
} from '../../performance/statistics/special-functions.ts'

/**
 * The count or share that stands for a cell that is empty on one side: a count, after which shares
 * are taken anew; a share, after which they are not; or nothing, and the cell adds nothing.
 */
export type ZeroFill =
  | { readonly kind: 'count'; readonly count: number }
  | { readonly kind: 'share'; readonly share: number }
  | { readonly kind: 'skip' }

interface StabilityCell {
  /** Raw share of each side; null without any count on that side. */
  readonly expectedShare: number | null
  readonly actualShare: number | null
  /** The cell's part of the index; null without an index. */
  readonly psi: number | null
}

export interface Stability {
  /** Null if one of the sides is empty. */
  readonly psi: number | null
  /** Cells that are empty on one side only. */
  readonly zeroBins: number
  /** The value that the index exceeds by chance in one of 20 samples of these sizes. */
  readonly cv95: number | null
  /** Probability of an index this large by chance. */
  readonly pValue: number | null
  readonly cells: readonly StabilityCell[]
}

export const VERDICTS = ['stable', 'moderate_shift', 'major_shift', 'insufficient_data'] as const
export type Verdict = (typeof VERDICTS)[number]

/** Thresholds of a verdict, as values of the index. */
export interface Thresholds {
  readonly watch: number
  readonly act: number
}

const CHANCE = 0.05

/**
 * The population stability index of two samples: the sum of (a − e) · ln(a / e) over the cells, of
 * the actual shares a and the expected shares e. Cells that are empty on both sides do not count.
 *
 * @param expected counts of the development sample
 * @param actual counts of the same cells now
 * @source the distribution of the index: B. Yurdakul and J. Naranjo, Statistical properties of the
 *   population stability index, Journal of Risk Model Validation 14(4), 2020
 */
export function populationStability(
  expected: readonly number[],
  actual: readonly number[],
  zeroFill: ZeroFill,
): Stability {
  const expectedSum = sum(expected)
  const actualSum = sum(actual)
  const raw = expected.map((count, cell) => ({
    expectedShare: computeShare(count, expectedSum),
    actualShare: computeShare(actual[cell] ?? 0, actualSum),
  }))
  const used = expected.filter((count, cell) => count > 0 || (actual[cell] ?? 0) > 0).length
  const zeroBins = expected.filter((count, cell) => count > 0 !== (actual[cell] ?? 0) > 0).length
  if (expectedSum === 0 || actualSum === 0) {
    const cells = raw.map((cell) => ({ ...cell, psi: null }))
    return { psi: null, zeroBins, cv95: null, pValue: null, cells }
  }
  const parts = computeParts(expected, actual, zeroFill)
  const psi = sum(parts)
  const noise = 1 / expectedSum + 1 / actualSum
  return {
    psi,
    zeroBins,
    cv95: chanceQuantile(used - 1) * noise,
    pValue: chiSquaredTail(psi / noise, used - 1),
    cells: raw.map((cell, index) => ({ ...cell, psi: parts[index] ?? 0 })),
  }
}

/** An index without its cells. */
type StabilityFigures = Pick<Stability, 'psi' | 'cv95'>

/**
 * The index of `populationStability` to the bit, for many pairs of samples: it makes no objects for
 * cells.
 */
export function stabilityFigures(
  expected: ArrayLike<number>,
  actual: ArrayLike<number>,
  zeroFill: ZeroFill,
): StabilityFigures {
  let [expectedSum, actualSum, used] = [0, 0, 0]
  for (let cell = 0; cell < expected.length; cell++) {
    const [e, a] = [expected[cell] ?? 0, actual[cell] ?? 0]
    expectedSum += e
    actualSum += a
    if (e > 0 || a > 0) used++
  }
  if (expectedSum === 0 || actualSum === 0) return { psi: null, cv95: null }
  const sums = filledSums(expected, actual, zeroFill)
  let psi = 0
  for (let cell = 0; cell < expected.length; cell++) {
    psi += computePart(expected[cell] ?? 0, actual[cell] ?? 0, sums, zeroFill)
  }
  const noise = 1 / expectedSum + 1 / actualSum
  return { psi, cv95: chanceQuantile(used - 1) * noise }
}

const quantiles = new Map<number, number>()

/** A feature has at most about a thousand cells, so these are few. */
function chanceQuantile(degrees: number): number {
  const known = quantiles.get(degrees)
  if (known !== undefined) return known
  const quantile = chiSquaredQuantile(CHANCE, degrees)
  quantiles.set(degrees, quantile)
  return quantile
}

/**
 * Returns what an index means. Where samples are so small that chance alone reaches `watch`, it
 * means nothing.
 */
export function decideVerdict(
  { psi, cv95 }: Pick<Stability, 'psi' | 'cv95'>,
  { watch, act }: Thresholds,
): Verdict {
  // A cv95 of 0 has no degree of freedom: one cell alone can't move.
  if (psi === null || cv95 === null || !(cv95 > 0) || cv95 >= watch) return 'insufficient_data'
  if (psi < watch) return 'stable'
  return psi < act ? 'moderate_shift' : 'major_shift'
}

/** Returns what each cell adds to the index; 0 for a cell that does not count. */
function computeParts(
  expected: readonly number[],
  actual: readonly number[],
  zeroFill: ZeroFill,
): number[] {
  const sums = filledSums(expected, actual, zeroFill)
  return expected.map((count, cell) => computePart(count, actual[cell] ?? 0, sums, zeroFill))
}

interface Sums {
  readonly expected: number
  readonly actual: number
}

/** Sums of the counts, with what stands for those that are empty on one side. */
function filledSums(
  expected: ArrayLike<number>,
  actual: ArrayLike<number>,
  zeroFill: ZeroFill,
): Sums {
  let [expectedSum, actualSum] = [0, 0]
  for (let cell = 0; cell < expected.length; cell++) {
    const [e, a] = [expected[cell] ?? 0, actual[cell] ?? 0]
    if (e <= 0 && a <= 0) continue
    expectedSum += filled(e, zeroFill)
    actualSum += filled(a, zeroFill)
  }
  return { expected: expectedSum, actual: actualSum }
}

function filled(count: number, zeroFill: ZeroFill): number {
  return count === 0 && zeroFill.kind === 'count' ? zeroFill.count : count
}

function computePart(expected: number, actual: number, sums: Sums, zeroFill: ZeroFill): number {
  if (expected <= 0 && actual <= 0) return 0
  let e = filled(expected, zeroFill) / sums.expected
  let a = filled(actual, zeroFill) / sums.actual
  if (zeroFill.kind === 'skip' && (e === 0 || a === 0)) return 0
  if (zeroFill.kind === 'share') {
    e ||= zeroFill.share
    a ||= zeroFill.share
  }
  return (a - e) * Math.log(a / e)
}

function computeShare(count: number, total: number): number | null {
  return total === 0 ? null : count / total
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0)
}

const SHARE_TEXT = 'share:'
const SHARE_BOUND = 0.5

/**
 * Reads a count up to 1 as `0.5`, `skip`, or a share below a half as `share:0.0001`.
 *
 * @returns null for another text
 */
export function readZeroFill(text: string): ZeroFill | null {
  if (text === 'skip') return { kind: 'skip' }
  const isShare = text.startsWith(SHARE_TEXT)
  const digits = isShare ? text.slice(SHARE_TEXT.length) : text
  const value = /^\d(?:\.\d{1,15})?$/.test(digits) ? Number(digits) : 0
  if (value <= 0 || value > 1) return null
  // A larger share would say that most applicants are in a cell without any.
  if (isShare && value >= SHARE_BOUND) return null
  return isShare ? { kind: 'share', share: value } : { kind: 'count', count: value }
}
