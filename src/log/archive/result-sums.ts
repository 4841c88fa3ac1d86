const F64 = new Float64Array(1)
const WORDS = new Uint32Array(F64.buffer)

/**
 * Sums over results that do not depend on their order, and change with any bit of them: blocks and
 * Parquet have the same results in another order.
 */
export class ResultSums {
  rows = 0
  results = 0
  private low = 0
  private high = 0

  /** @param score null where the model failed */
  add(score: number | null, pd: number | null): void {
    this.rows++
    if (score === null) return
    this.results++
    this.addBits(score, 1)
    if (pd !== null) this.addBits(pd, 3)
  }

  /** Equal texts are equal sums. */
  toString(): string {
    return `${this.rows} rows, ${this.results} results, ${this.high}.${this.low}`
  }

  /** @param factor odd, tells scores from probabilities */
  private addBits(value: number, factor: number): void {
    // Parquet gets 0 for -0.
    F64[0] = value + 0
    this.low = (this.low + Math.imul(WORDS[0] ?? 0, factor)) >>> 0
    this.high = (this.high + Math.imul(WORDS[1] ?? 0, factor)) >>> 0
  }
}
