/** Values whose sum over every applicant of a log stays far below the largest double. */
const LARGE_MIN = 2 ** 900
const LARGE_UNIT = 2 ** 100

/** A sum with compensation for rounding, after Neumaier: the order of values hardly matters. */
export class ExactSum {
  private sum = 0
  private rest = 0
  /** Sum of the values from `LARGE_MIN` on, in units of `LARGE_UNIT`. */
  private large = 0

  /** @param value finite */
  add(value: number): void {
    if (Math.abs(value) >= LARGE_MIN) {
      this.large += value / LARGE_UNIT
      return
    }
    const next = this.sum + value
    this.rest +=
      Math.abs(this.sum) >= Math.abs(value) ? this.sum - next + value : value - next + this.sum
    this.sum = next
  }

  /** Not finite where the sum is beyond the range of a double. */
  get value(): number {
    return this.sum + this.rest + this.large * LARGE_UNIT
  }

  /** The mean of n values, which is finite although their sum may not be. */
  meanOver(n: number): number {
    return (this.sum + this.rest) / n + (this.large / n) * LARGE_UNIT
  }
}
