import { ExactSum } from '../../platform/exact-sum.ts'

/** Applicants with the sum of their probabilities of default by one model. */
export class PdGroup {
  n = 0
  private readonly sum = new ExactSum()
  private hasAll = true

  /**
   * Adds applicants.
   *
   * @param pd sum of their probabilities; NaN if one has none
   */
  add(pd: number, n = 1): void {
    this.n += n
    if (Number.isNaN(pd)) this.hasAll = false
    else this.sum.add(pd)
  }

  merge(other: PdGroup): void {
    this.add(other.hasAll ? other.sum.value : Number.NaN, other.n)
  }

  /** Null if an applicant has no probability. */
  get expectedBads(): number | null {
    return this.hasAll ? this.sum.value : null
  }

  /** Null if an applicant has no probability, and without applicants. */
  get meanPd(): number | null {
    const bads = this.expectedBads
    // Rounding must not lift the mean of equal probabilities above 1.
    return bads === null || this.n === 0 ? null : Math.min(1, bads / this.n)
  }

  computeShare(total: number): number | null {
    return total === 0 ? null : this.n / total
  }
}

/** Direction of a card: 1 where a higher score is a lower risk, -1 where it is a higher one. */
export type Direction = 1 | -1

/** @param scaling of the specification; a card without one is read as most are */
export function findDirection(scaling: { readonly pdo: number } | undefined): Direction {
  return scaling !== undefined && scaling.pdo < 0 ? -1 : 1
}
