import type { BaselineCounts } from '../../../schemas/baselines.ts'
import { isCount, isCountable } from '../../engine/index.ts'
import { AppError, type ErrorDetail } from '../../errors.ts'
import type { ScoreBand } from './baseline.ts'
import { type Card, cellLayout, type FeatureLayout } from './cell-layout.ts'

const FAULTS_MAX = 100
const NO_COUNT = 'must be a whole number from 0 to 2^53 - 1'
const SUM_TOO_LARGE = 'have counts whose sum is above 2^53 - 1'
const OTHER_OUTCOMES = ['missing', 'unseen_category', 'no_bin', 'not_a_number'] as const

/**
 * Checks that counts fit a card: each feature with a count for each bin, none for an outcome that
 * it can't have, whole numbers whose sums are exact, and bands that rise without overlapping. Holes
 * between bands and beyond their ends become bands with a count of 0.
 *
 * @throws AppError `invalid_baseline` with details for every fault
 */
export function checkCounts(counts: BaselineCounts, card: Card): BaselineCounts {
  const faults: ErrorDetail[] = []
  const layouts = cellLayout(card)
  const names = new Set(layouts.map(({ name }) => name))
  for (const name of Object.keys(counts.features)) {
    if (names.has(name)) continue
    faults.push({ path: `counts.features.${name}`, message: 'is not a feature of the model' })
  }
  for (const [index, layout] of layouts.entries()) {
    const bins = card.spec.features[index]?.bins.length ?? 0
    const ofFeature = Object.hasOwn(counts.features, layout.name)
      ? counts.features[layout.name]
      : undefined
    faults.push(...featureFaults(layout, bins, ofFeature))
  }
  const bands = counts.score_bands
  if (bands !== undefined) faults.push(...bandFaults(bands))
  if (faults.length > 0) throw invalidBaseline('the counts do not fit the model', faults)
  if (bands === undefined || bands.length === 0) return { features: counts.features }
  return { features: counts.features, score_bands: closedBands(bands) }
}

/** The error for a baseline that can't be used. */
export function invalidBaseline(message: string, details: readonly ErrorDetail[] = []): AppError {
  const listed = details.slice(0, FAULTS_MAX)
  return new AppError('invalid_baseline', message, listed.length === 0 ? {} : { details: listed })
}

function featureFaults(
  { name, cells, missingBinPlace }: FeatureLayout,
  bins: number,
  counts: BaselineCounts['features'][string] | undefined,
): ErrorDetail[] {
  const path = `counts.features.${name}`
  if (counts === undefined) return [{ path, message: 'is missing: count each feature' }]
  const faults: ErrorDetail[] = []
  const add = (field: string, message: string) => faults.push({ path: `${path}.${field}`, message })
  if (counts.bins.length !== bins) {
    add('bins', `must be a count for each of ${bins} bins, but are ${counts.bins.length}`)
  }
  for (const [bin, count] of counts.bins.entries()) {
    if (!isCount(count)) add(`bins[${bin}]`, NO_COUNT)
  }
  let sum = counts.bins.reduce((total, count) => total + count, 0)
  for (const outcome of OTHER_OUTCOMES) {
    const count = counts[outcome] ?? 0
    sum += count
    if (!isCount(count)) add(outcome, NO_COUNT)
    if (count === 0) continue
    if (outcome === 'missing' && missingBinPlace >= 0) {
      add(outcome, `must be left out: bins[${missingBinPlace}] counts missing values`)
    } else if (!cells.some((cell) => cell.outcome === outcome)) {
      add(outcome, 'is not an outcome of this type of feature')
    }
  }
  if (sum === 0) add('bins', 'count nobody')
  if (sum > Number.MAX_SAFE_INTEGER) add('bins', SUM_TOO_LARGE)
  return faults
}

function bandFaults(bands: readonly ScoreBand[]): ErrorDetail[] {
  const faults: ErrorDetail[] = []
  let end = Number.NEGATIVE_INFINITY
  for (const [index, { min, max, n }] of bands.entries()) {
    const path = `counts.score_bands[${index}]`
    if (!isCount(n)) faults.push({ path: `${path}.n`, message: NO_COUNT })
    const low = min ?? Number.NEGATIVE_INFINITY
    const high = max ?? Number.POSITIVE_INFINITY
    if (low >= high) faults.push({ path, message: 'must have a min below its max' })
    const isFirst = index === 0
    if (!isFirst && (min === null || low < end)) {
      faults.push({ path, message: 'must begin at or after the end of the band before it' })
    }
    end = high
  }
  if (!isCountable(bands.map(({ n }) => n))) {
    faults.push({ path: 'counts.score_bands', message: SUM_TOO_LARGE })
  }
  if (bands.length > 0 && bands.every(({ n }) => n === 0)) {
    faults.push({ path: 'counts.score_bands', message: 'count nobody' })
  }
  return faults
}

/** The same bands with empty ones between and beyond them. */
function closedBands(bands: readonly ScoreBand[]): ScoreBand[] {
  const closed: ScoreBand[] = []
  let end: number | null = null
  for (const band of bands) {
    if (band.min !== null && (closed.length === 0 || end !== band.min)) {
      closed.push({ min: end, max: band.min, n: 0 })
    }
    closed.push(band)
    end = band.max
  }
  if (end !== null) closed.push({ min: end, max: null, n: 0 })
  return closed
}
