import type { CompiledModel } from './compile.ts'
import { type ReasonMeans, type ReasonRules, roundDistance } from './reasons.ts'

/** Key factors that an answer names; one more where it is the number of inquiries. */
const KEY_FACTORS_MAX = 4
/** Up to here, sorting by insertion takes less time than preparing a sort. */
const INSERTION_MAX = 32

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
 * Distances follow from slots, so that they are computed once for each slot of the model. What is
 * known of a code belongs to one call: `calls` tells its values from those of earlier calls, which
 * saves clearing them for a card of many codes.
 *
 * @source 12 CFR 1002, supplement I, comment 9(b)(2)-5
 */
export class ReasonFinder {
  readonly rules: ReasonRules
  readonly means: ReasonMeans
  /** NaN for a feature that can't be a reason. */
  private readonly distanceOfSlot: Float64Array
  /** The call that last met a code. */
  private readonly metIn: Float64Array
  private readonly sums: Float64Array
  /** First feature that adds to a code, -1 for none, and how many do. */
  private readonly first: Int32Array
  private readonly adding: Int32Array
  private readonly areAllKeyFactors: boolean
  private readonly hasInquiries: boolean
  private calls = 0

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
    this.metIn = new Float64Array(rules.codes.length)
    this.sums = new Float64Array(rules.codes.length)
    this.first = new Int32Array(rules.codes.length)
    this.adding = new Int32Array(rules.codes.length)
    this.areAllKeyFactors = rules.keyFactor.every((flag) => flag === 1)
    this.hasInquiries = rules.inquiry.some((flag) => flag === 1)
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
    const shown = Math.min(max, ranked.length)
    const reasons: Reason[] = []
    for (let rank = 0; rank < shown; rank++) {
      const code = ranked[rank]!
      reasons.push({ code, distance: sums[code]!, features: this.featuresOf(code, slots) })
    }
    return {
      reasons,
      isTruncated:
        shown > 0 && ranked.length > shown && sums[ranked[shown]!] === sums[ranked[shown - 1]!],
      isEmpty: ranked.length === 0,
      keyFactors: this.keyFactors(ranked, slots),
    }
  }

  /** Codes with a distance above the least one, the largest first, ties in spec order. */
  private ranked(slots: ArrayLike<number>): number[] {
    const { sums, distanceOfSlot, rules } = this
    const { codeOfSlot, settings } = rules
    const { aggregate = 'positive', min_distance: leastDistance = 0 } = settings
    const isNet = aggregate === 'net'
    const isMax = aggregate === 'max'
    const ranked: number[] = []
    this.calls++
    for (let feature = 0; feature < slots.length; feature++) {
      const slot = slots[feature]!
      const distance = distanceOfSlot[slot]!
      const adds = distance > 0
      if (!(adds || (isNet && distance < 0))) continue
      const code = codeOfSlot[slot]!
      if (this.metIn[code] !== this.calls) this.begin(code)
      const sum = sums[code]!
      sums[code] = isMax ? Math.max(sum, distance) : sum + distance
      if (!adds) continue
      if (this.adding[code]!++ > 0) continue
      this.first[code] = feature
      ranked.push(code)
    }
    let kept = 0
    for (const code of ranked) {
      sums[code] = roundDistance(sums[code]!)
      if (sums[code] > leastDistance) ranked[kept++] = code
    }
    ranked.length = kept
    return sortedDown(ranked, sums)
  }

  private begin(code: number): void {
    this.metIn[code] = this.calls
    this.sums[code] = 0
    this.first[code] = -1
    this.adding[code] = 0
  }

  private featuresOf(code: number, slots: ArrayLike<number>): number[] {
    const features = [this.first[code]!]
    let left = this.adding[code]! - 1
    for (let feature = features[0]! + 1; left > 0; feature++) {
      const slot = slots[feature]!
      if (this.rules.codeOfSlot[slot] !== code || !(this.distanceOfSlot[slot]! > 0)) continue
      features.push(feature)
      left--
    }
    return features
  }

  private keyFactors(ranked: readonly number[], slots: ArrayLike<number>): readonly number[] {
    const { keyFactor, inquiry } = this.rules
    const isOf = (code: number, flags: Uint8Array) =>
      this.featuresOf(code, slots).some((feature) => flags[feature] === 1)
    const factors = this.areAllKeyFactors ? ranked : ranked.filter((code) => isOf(code, keyFactor))
    const shown = factors.slice(0, KEY_FACTORS_MAX)
    if (!this.hasInquiries) return shown
    const inquiries = factors.slice(KEY_FACTORS_MAX).find((code) => isOf(code, inquiry))
    return inquiries === undefined ? shown : [...shown, inquiries]
  }
}

/** Sorts in place; codes with equal sums keep their order. */
function sortedDown(codes: number[], sums: Float64Array): number[] {
  if (codes.length > INSERTION_MAX) return codes.sort((one, other) => sums[other]! - sums[one]!)
  for (let at = 1; at < codes.length; at++) {
    const code = codes[at]!
    const sum = sums[code]!
    let place = at
    while (place > 0 && sums[codes[place - 1]!]! < sum) {
      codes[place] = codes[place - 1]!
      place--
    }
    codes[place] = code
  }
  return codes
}
