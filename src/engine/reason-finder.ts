import type { CompiledModel } from './compile.ts'
import { type ReasonMeans, type ReasonRules, roundDistance } from './reasons.ts'

/** Key factors that an answer names; one more where it is the number of inquiries. */
const KEY_FACTORS_MAX = 4

/** A reason: a code, with the features that took points for it. */
export interface Reason {
  /** Index in the codes of the rules. */
  readonly code: number
  /** Points below the baseline, above 0. */
  readonly distance: number
  /** Indexes in the spec, rising. */
  readonly features: readonly number[]
}

export interface FoundReasons {
  /** The largest distance first. */
  readonly reasons: readonly Reason[]
  /** Whether a reason that is left out has the distance of the last one. */
  readonly isTruncated: boolean
  /** Whether no feature took points; then a reason must come from elsewhere. */
  readonly isEmpty: boolean
  /** Indexes of codes. */
  readonly keyFactors: readonly number[]
}

/**
 * Finds the reasons of a model's scores against one baseline.
 *
 * The distance of a feature is the baseline's average points less the applicant's, in the direction
 * of risk. It is, up to its sign, the feature's Shapley value against that population, because
 * points add up. A code without a positive distance is never a reason, and nothing fills the list.
 *
 * Distances follow from slots, so that they are computed once for each slot of the model.
 *
 * @source 12 CFR 1002, supplement I, comment 9(b)(2)-5
 */
export class ReasonFinder {
  readonly rules: ReasonRules
  readonly means: ReasonMeans
  /** NaN for a feature that can't be a reason. */
  private readonly distanceOfSlot: Float64Array
  private readonly sums: Float64Array
  private readonly first: Int32Array

  /** @param means for every eligible feature of the model */
  constructor(model: CompiledModel, rules: ReasonRules, means: ReasonMeans) {
    this.rules = rules
    this.means = means
    const { slotStart, points } = model
    this.distanceOfSlot = new Float64Array(points.length).fill(Number.NaN)
    for (const index of model.features.keys()) {
      if (rules.eligible[index] !== 1) continue
      for (let slot = slotStart[index]!; slot < slotStart[index + 1]!; slot++) {
        const distance = rules.sign * (means.means[index]! - points[slot]!)
        this.distanceOfSlot[slot] = roundDistance(distance)
      }
    }
    this.sums = new Float64Array(rules.codes.length)
    this.first = new Int32Array(rules.codes.length)
  }

  /** Points of the slot's feature below the baseline; NaN for a feature that can't be a reason. */
  distanceOf(slot: number): number {
    return this.distanceOfSlot[slot]!
  }

  /**
   * The reasons of one applicant.
   *
   * @param slots of every feature, each valid
   * @param max reasons at most
   */
  find(slots: ArrayLike<number>, max: number): FoundReasons {
    const ranked = this.ranked(slots)
    const { sums } = this
    const shown = ranked.slice(0, max)
    const last = shown.at(-1)
    const next = ranked[max]
    return {
      reasons: shown.map((code) => ({
        code,
        distance: sums[code]!,
        features: this.featuresOf(code, slots),
      })),
      isTruncated: last !== undefined && next !== undefined && sums[next] === sums[last],
      isEmpty: ranked.length === 0,
      keyFactors: this.keyFactors(ranked, slots),
    }
  }

  /** Codes with a distance above the least one, the largest first, ties in spec order. */
  private ranked(slots: ArrayLike<number>): number[] {
    const { sums, first, distanceOfSlot, rules } = this
    const { codeOfSlot, settings } = rules
    const { aggregate = 'positive', min_distance: leastDistance = 0 } = settings
    const met: number[] = []
    first.fill(-1)
    sums.fill(0)
    for (let feature = 0; feature < slots.length; feature++) {
      const slot = slots[feature]!
      const distance = distanceOfSlot[slot]!
      const adds = distance > 0
      if (!(adds || (aggregate === 'net' && distance < 0))) continue
      const code = codeOfSlot[slot]!
      const sum = sums[code]!
      sums[code] = aggregate === 'max' ? Math.max(sum, distance) : sum + distance
      if (!adds || first[code] !== -1) continue
      first[code] = feature
      met.push(code)
    }
    for (const code of met) sums[code] = roundDistance(sums[code]!)
    // Sorting is stable, and `met` is in the order of the features that add to a code.
    return met
      .filter((code) => sums[code]! > leastDistance)
      .sort((one, other) => sums[other]! - sums[one]!)
  }

  private featuresOf(code: number, slots: ArrayLike<number>): number[] {
    const features: number[] = []
    for (let feature = this.first[code]!; feature < slots.length; feature++) {
      if (this.addsTo(code, slots[feature]!)) features.push(feature)
    }
    return features
  }

  private addsTo(code: number, slot: number): boolean {
    return this.rules.codeOfSlot[slot] === code && this.distanceOfSlot[slot]! > 0
  }

  private keyFactors(ranked: readonly number[], slots: ArrayLike<number>): number[] {
    const { keyFactor, inquiry } = this.rules
    const isOf = (code: number, flags: Uint8Array) =>
      this.featuresOf(code, slots).some((feature) => flags[feature] === 1)
    const factors = ranked.filter((code) => isOf(code, keyFactor))
    const shown = factors.slice(0, KEY_FACTORS_MAX)
    const inquiries = factors.slice(KEY_FACTORS_MAX).find((code) => isOf(code, inquiry))
    return inquiries === undefined ? shown : [...shown, inquiries]
  }
}
