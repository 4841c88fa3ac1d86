/** A sum with compensation for rounding, after Neumaier: the order of values hardly matters. */
export class ExactSum {
  private sum = 0
  private rest = 0

  /** @param value finite */
  add(value: number): void {
    const next = this.sum + value
    this.rest +=
      Math.abs(this.sum) >= Math.abs(value) ? this.sum - next + value : value - next + this.sum
    this.sum = next
  }

  get value(): number {
    return this.sum + this.rest
  }
}
