import {
  type CompiledModel,
  ReasonFinder,
  type ReasonMeans,
  type ReasonMethod,
  type ReasonRules,
} from '../engine/index.ts'

/** A baseline that was computed from scores; it never changes. */
export interface ReasonBaseline {
  readonly baselineId: string
  readonly method: ReasonMethod
  readonly cutoff: number | null
  /** Applicants whose points were averaged. */
  readonly n: number
  /** Null: from the first score. */
  readonly fromMs: number | null
  readonly toMs: number
  /** Name and average points of each feature. */
  readonly means: readonly (readonly [string, number])[]
}

/** The way an answer came to its reasons, as the public contract says it. */
export interface ReasonMethodAnswer {
  readonly method: ReasonMethod
  readonly baseline_id: string | null
  readonly baseline_basis: string | null
  readonly cutoff: number | null
  readonly population_n: number | null
  readonly from: string | null
  readonly to: string | null
}

/**
 * Makes the finder of a model's reasons against a baseline, or against the averages of the card
 * itself where there is none.
 *
 * @returns null if the model needs a baseline and has none
 */
export function makeReasonFinder(
  model: CompiledModel,
  rules: ReasonRules,
  baseline: ReasonBaseline | null,
): ReasonFinder | null {
  const means = baseline === null ? rules.ownMeans : computeMeans(model, rules, baseline)
  return means === null ? null : new ReasonFinder(model, rules, means)
}

/** A feature that can't be a reason is compared with nothing, as by the averages of the card. */
function computeMeans(
  { featureNames }: CompiledModel,
  { eligible }: ReasonRules,
  { means, n }: ReasonBaseline,
): ReasonMeans {
  const known = new Map(means)
  return {
    means: Float64Array.from(featureNames, (name, index) =>
      eligible[index] === 1 ? (known.get(name) ?? Number.NaN) : Number.NaN,
    ),
    populationN: n,
  }
}

/** Names method, baseline, cut-off, population and period. */
export function findReasonMethod(
  { rules: { method, settings }, means }: ReasonFinder,
  baseline: ReasonBaseline | null,
): ReasonMethodAnswer {
  const formatIso = (atMs: number | null | undefined) =>
    atMs == null ? null : new Date(atMs).toISOString()
  return {
    method,
    baseline_id: baseline?.baselineId ?? null,
    baseline_basis: method === 'fixed' ? (settings.baseline_basis ?? null) : null,
    cutoff: baseline?.cutoff ?? null,
    population_n: means.populationN,
    from: formatIso(baseline?.fromMs),
    to: formatIso(baseline?.toMs),
  }
}
