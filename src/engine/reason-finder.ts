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
  /** True if a reason that is left out has the distance of the last one. */
  readonly isTruncated: boolean
  /** True if no feature took points; then a reason must come from elsewhere. */
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
 * Distances follow from slots, so each slot of the model has one, computed at the start. `calls`
 * marks which sums of codes are of the present call, so that a card of many codes clears none.
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
  /** Codes in the order of `rank`. */
  private readonly ranked: Int32Array
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
    this.ranked = new Int32Array(rules.codes.length)
    this.areAllKeyFactors = rules.keyFactor.every((flag) => flag === 1)
    this.hasInquiries = rules.inquiry.some((flag) => flag === 1)
  }

  /** Points of the slot's feature below the baseline; NaN for a feature that can't be a reason. */
  readDistance(slot: number): number {
    return this.distanceOfSlot[slot]!
  }

  /**
   * The reasons of one applicant.
   *
   * @param slots of every feature, each valid
   * @param max reasons at most
   */
  find(slots: ArrayLike<number>, max: number): FoundReasons {
    const count = this.rank(slots)
    const shown = Math.min(max, count)
    const reasons: Reason[] = []
    for (let rank = 0; rank < shown; rank++) reasons.push(this.reasonAt(rank, slots))
    return {
      reasons,
      isTruncated: this.isTruncatedAt(shown, count),
      isEmpty: count === 0,
      keyFactors: this.keyFactors(count, slots),
    }
  }

  /**
   * Ranks the codes of one applicant without making an object for each: `ranked` has those with a
   * distance above the least one, the largest first, ties in spec order. Until the next
   * call, `reasonAt` and `slotAt` read this applicant.
   *
   * @param slots of every feature, each valid
   * @returns how many there are
   */
  rank(slots: ArrayLike<number>): number {
    const { sums, distanceOfSlot, rules, ranked } = this
    const { codeOfSlot, settings } = rules
    const { aggregate = 'positive', min_distance: leastDistance = 0 } = settings
    const isNet = aggregate === 'net'
    const isMax = aggregate === 'max'
    let met = 0
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
      ranked[met++] = code
    }
    let count = 0
    for (let at = 0; at < met; at++) {
      const code = ranked[at]!
      sums[code] = roundDistance(sums[code]!)
      if (sums[code] > leastDistance) ranked[count++] = code
    }
    sortDown(ranked, count, sums)
    return count
  }

  /** The reason at a rank, from 0, of the applicant that was ranked. */
  reasonAt(rank: number, slots: ArrayLike<number>): Reason {
    const code = this.ranked[rank]!
    return { code, distance: this.sums[code]!, features: this.listFeatures(code, slots) }
  }

  /**
   * The slot that alone makes the reason at a rank; -1 where several features took points, or where
   * one gave some back.
   */
  slotAt(rank: number, slots: ArrayLike<number>): number {
    const code = this.ranked[rank]!
    if (this.adding[code] !== 1) return -1
    const slot = slots[this.first[code]!]!
    return this.distanceOfSlot[slot] === this.sums[code] ? slot : -1
  }

  /** Tells whether a reason that is left out has the distance of the last one that is shown. */
  isTruncatedAt(shown: number, count: number): boolean {
    const { ranked, sums } = this
    return shown > 0 && count > shown && sums[ranked[shown]!] === sums[ranked[shown - 1]!]
  }

  private begin(code: number): void {
    this.metIn[code] = this.calls
    this.sums[code] = 0
    this.first[code] = -1
    this.adding[code] = 0
  }

  private listFeatures(code: number, slots: ArrayLike<number>): number[] {
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

  /** Indexes of the codes that are key factors of the applicant that was ranked. */
  keyFactors(count: number, slots: ArrayLike<number>): readonly number[] {
    const { keyFactor, inquiry } = this.rules
    const factors: number[] = []
    for (let rank = 0; rank < count; rank++) {
      const isFull = factors.length >= KEY_FACTORS_MAX
      if (isFull && !this.hasInquiries) break
      const code = this.ranked[rank]!
      if (!this.areAllKeyFactors && !this.isFlagged(code, keyFactor, slots)) continue
      if (!isFull) factors.push(code)
      else if (this.isFlagged(code, inquiry, slots)) return [...factors, code]
    }
    return factors
  }

  private isFlagged(code: number, flags: Uint8Array, slots: ArrayLike<number>): boolean {
    return this.listFeatures(code, slots).some((feature) => flags[feature] === 1)
  }
}

/** Sorts the first codes in place; codes with equal sums keep their order. */
function sortDown(codes: Int32Array, count: number, sums: Float64Array): void {
  if (count > INSERTION_MAX) {
    codes.subarray(0, count).sort((one, other) => sums[other]! - sums[one]!)
    return
  }
  for (let at = 1; at < count; at++) {
    const code = codes[at]!
    const sum = sums[code]!
    let place = at
    while (place > 0 && sums[codes[place - 1]!]! < sum) {
      codes[place] = codes[place - 1]!
      place--
    }
    codes[place] = code
  }
}
