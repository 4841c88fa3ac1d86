/** Values whose sum over every applicant of a log stays far below the largest double. */
const LARGE_MIN = 2 ** 900
const LARGE_UNIT = 2 ** 100

/**
 * A sum without rounding, after Neumaier and Shewchuk: it is the same in any order, and for sums of
 * sums.
 */
export class ExactSum {
  private sum = 0
  private rest = 0
  /** Terms that `sum` and `rest` have no bits for, which is rare. */
  private parts: number[] | null = null
  /** The sum of the values from `LARGE_MIN` on, in units of `LARGE_UNIT`. */
  private large: number[] | null = null

  /** @param value finite */
  add(value: number): void {
    if (Math.abs(value) >= LARGE_MIN) {
      this.large ??= []
      addTo(this.large, value / LARGE_UNIT)
      return
    }
    const next = this.sum + value
    const lost = findLost(this.sum, value, next)
    const rest = this.rest + lost
    const lostOfRest = findLost(this.rest, lost, rest)
    this.sum = next
    this.rest = rest
    // Not for NaN, which damaged records can have.
    if (lostOfRest < 0 || lostOfRest > 0) {
      this.parts ??= []
      addTo(this.parts, lostOfRest)
    }
  }

  /** Few values that have the same sum, where all are below `LARGE_MIN`. */
  get terms(): readonly number[] {
    const terms = [...(this.parts ?? [])]
    for (const term of [this.rest, this.sum]) addTo(terms, term)
    return terms
  }

  /** The double next to the sum; not finite where the sum is beyond the range of a double. */
  get value(): number {
    return this.meanOver(1)
  }

  /** The mean of n values, which is finite although their sum may not be. */
  meanOver(n: number): number {
    return roundSum(this.terms) / n + (roundSum(this.large ?? []) / n) * LARGE_UNIT
  }
}

/** Returns what the double next to the sum of two values lacks. */
function findLost(one: number, other: number, sum: number): number {
  return Math.abs(one) >= Math.abs(other) ? one - sum + other : other - sum + one
}

/** Adds to doubles of rising magnitude that have no bits in common. */
function addTo(parts: number[], value: number): void {
  let sum = value
  let kept = 0
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index] ?? 0
    const next = sum + part
    const rest = findLost(sum, part, next)
    if (rest !== 0) parts[kept++] = rest
    sum = next
  }
  parts[kept] = sum
  parts.length = kept + 1
}

/** Returns the double next to the sum of the parts; of two, the even one. */
function roundSum(parts: readonly number[]): number {
  let at = parts.length - 1
  let sum = parts[at] ?? 0
  let rest = 0
  while (at > 0 && rest === 0) {
    const part = parts[--at] ?? 0
    const next = sum + part
    rest = part - (next - sum)
    sum = next
  }
  // What follows decides where the rest is just half of the last bit.
  const after = parts[at - 1] ?? 0
  if (at > 0 && rest < 0 === after < 0) {
    const doubled = 2 * rest
    const next = sum + doubled
    if (next - sum === doubled) return next
  }
  return sum
}
