import type { CompiledModel } from './compile.ts'
import { isMissingBin } from './compile.ts'
import { IssueList } from './issues.ts'
import {
  type FeatureReasonSpec,
  hasReasons,
  REASONS_DEFAULT,
  type ReasonMethod,
  type ReasonSettings,
  type ReasonSpec,
} from './reason-spec.ts'
import type { ScorecardSpec } from './spec.ts'
import { checkReasons } from './validate-reasons.ts'

/** Average points of each feature in the population that an applicant is compared with. */
export interface ReasonMeans {
  /** For each feature in spec order; NaN for one that can't be a reason. */
  readonly means: Float64Array
  /** Applicants behind the averages; null where there is no population. */
  readonly populationN: number | null
}

/** The rules by which a card explains its scores, compiled. */
export interface ReasonRules {
  readonly settings: ReasonSettings
  readonly method: ReasonMethod
  /** Reasons of an answer that asks for no number. */
  readonly max: number
  /** 1 if a higher score is a lower risk, else -1. */
  readonly sign: 1 | -1
  readonly codes: readonly string[]
  /** Index in `codes` of each slot of the model. */
  readonly codeOfSlot: Int32Array
  /** 1 for each feature that can be a reason. */
  readonly eligible: Uint8Array
  /** 1 for each feature that counts for key factors. */
  readonly keyFactor: Uint8Array
  /** 1 for each feature that counts inquiries. */
  readonly inquiry: Uint8Array
  readonly spec: ReasonSpec
  /** The averages that follow from the card; null where they must be computed from its scores. */
  readonly ownMeans: ReasonMeans | null
}

/**
 * Compiles the rules of a specification.
 *
 * @param model compiled from the same specification
 * @returns null where the extension has no effect, or where it has a fault: an earlier release kept
 *   it unchecked
 */
export function compileReasons(spec: ScorecardSpec, model: CompiledModel): ReasonRules | null {
  if (!hasReasons(spec)) return null
  const faults = new IssueList()
  checkReasons(spec as unknown as Record<string, unknown>, faults, new IssueList())
  if (faults.count > 0) return null
  // `checkReasons` has found no fault in it.
  const reasonSpec = spec as unknown as ReasonSpec
  const { reasons: settings, features } = reasonSpec
  const sign = findDirection(spec)
  const flags = (has: (feature: FeatureReasonSpec) => boolean) =>
    Uint8Array.from(features, (feature) => (has(feature) ? 1 : 0))
  const bySource = features.some(({ source }) => source === 'consumer_report')
  const eligible = flags(({ reason_eligible: isEligible = true }) => isEligible)
  return {
    settings,
    method: settings.method,
    max: settings.max ?? REASONS_DEFAULT,
    sign,
    ...listCodes(reasonSpec, model),
    eligible,
    keyFactor: flags(({ source }) => !bySource || source === 'consumer_report'),
    inquiry: flags(({ inquiry_factor: isInquiry = false }) => isInquiry),
    spec: reasonSpec,
    ownMeans: computeOwnMeans(reasonSpec, model, { eligible, sign }),
  }
}

/** 1 if a higher score is a lower risk, as on a card without a scale; -1 with a negative PDO. */
export function findDirection({ scaling }: ScorecardSpec): 1 | -1 {
  return (scaling?.pdo ?? 1) < 0 ? -1 : 1
}

function listCodes(
  { features }: ReasonSpec,
  { slotStart, binOfSlot, featureNames }: CompiledModel,
) {
  const indexes = new Map<string, number>()
  const codeOfSlot = new Int32Array(binOfSlot.length)
  for (const [index, { reason_code: ofFeature, bins }] of features.entries()) {
    for (let slot = slotStart[index]!; slot < slotStart[index + 1]!; slot++) {
      const code = bins[binOfSlot[slot]!]?.reason_code ?? ofFeature ?? featureNames[index]!
      const known = indexes.get(code) ?? indexes.size
      indexes.set(code, known)
      codeOfSlot[slot] = known
    }
  }
  return { codes: [...indexes.keys()], codeOfSlot }
}

interface OwnMeans {
  readonly eligible: Uint8Array
  readonly sign: 1 | -1
}

function computeOwnMeans(
  { reasons: { method }, features }: ReasonSpec,
  model: CompiledModel,
  { eligible, sign }: OwnMeans,
): ReasonMeans | null {
  const computeMeans = (mean: (index: number) => number) =>
    Float64Array.from(features, (_, index) => (eligible[index] === 1 ? mean(index) : Number.NaN))
  if (method === 'fixed') {
    const means = computeMeans((index) => features[index]!.reason_baseline!)
    return { means, populationN: null }
  }
  if (method === 'max') {
    const best = bestPoints(model, sign)
    return { means: computeMeans((index) => best[index]!), populationN: null }
  }
  if (method === 'mean_at_cutoff') return null
  const counts = features.map(developmentCount)
  if (counts.some((count, index) => eligible[index] === 1 && !(count > 0))) return null
  const means = computeMeans((index) =>
    developmentMean(model, features[index]!, index, counts[index]!),
  )
  // Features that give no reason are not part of what is compared.
  const compared = counts.filter((count, index) => eligible[index] === 1 && count > 0)
  return { means, populationN: Math.max(0, ...compared) }
}

/**
 * The best points of each feature: the most, or the least where a higher score is a higher risk.
 */
export function bestPoints(model: CompiledModel, sign: 1 | -1): Float64Array {
  return Float64Array.from(model.features, (_, index) => {
    const { least, most } = pointsRange(model, index)
    return sign === 1 ? most : least
  })
}

/** Applicants of the development sample; NaN if a bin has no count. */
function developmentCount({ bins }: FeatureReasonSpec): number {
  return bins.reduce((sum, { baseline_count: count }) => sum + (count ?? Number.NaN), 0)
}

function developmentMean(
  { binOfSlot, points, slotStart }: CompiledModel,
  { bins }: FeatureReasonSpec,
  index: number,
  count: number,
): number {
  const pointsOfBin = new Map<number, number>()
  for (let slot = slotStart[index]!; slot < slotStart[index + 1]!; slot++) {
    pointsOfBin.set(binOfSlot[slot]!, points[slot]!)
  }
  let sum = 0
  for (const [bin, { baseline_count: share }] of bins.entries()) {
    sum += (pointsOfBin.get(bin) ?? 0) * (share ?? 0)
  }
  return sum / count
}

/**
 * Least and most points that a feature gives for a valid or a missing value. 0 counts where one of
 * these matches no bin; a text for a numeric feature is not valid.
 */
export function pointsRange(
  model: CompiledModel,
  index: number,
): { readonly least: number; readonly most: number } {
  const { points, slotStart, features } = model
  const { noBinSlot, missingSlot, isNumeric, isComplete } = features[index]!
  let least = points[missingSlot]!
  let most = least
  for (let slot = slotStart[index]!; slot < slotStart[index + 1]!; slot++) {
    if (slot < missingSlot && !(isNumeric && slot === noBinSlot && !isComplete)) continue
    least = Math.min(least, points[slot]!)
    most = Math.max(most, points[slot]!)
  }
  return { least, most }
}

/** Lowest and highest score of a card over valid and missing values. */
export function computeScoreRange(model: CompiledModel): {
  readonly min: number
  readonly max: number
} {
  let min = model.basePoints
  let max = model.basePoints
  for (const index of model.features.keys()) {
    const { least, most } = pointsRange(model, index)
    min += least
    max += most
  }
  return { min, max }
}

/** The text of a bin as an applicant may read it, where it has no label. */
export function formatBinText(spec: ScorecardSpec, feature: number, bin: number): string {
  const card = spec.features[feature]!
  if (isMissingBin(card, bin)) return 'Missing'
  return card.type === 'numeric' ? card.bins[bin]!.range : card.bins[bin]!.value
}

const MILLION = 1e6
/** From here on a double has no six decimals. */
const WHOLE_FROM = 2 ** 53 / MILLION

/** To six decimals, so that ties do not hang on the last bit of an average. */
export function roundDistance(value: number): number {
  if (Math.abs(value) >= WHOLE_FROM) {
    return Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, value))
  }
  return Math.sign(value) * (Math.round(Math.abs(value) * MILLION) / MILLION) + 0
}
