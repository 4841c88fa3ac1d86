const ROOM_FIRST = 1_024

/** Numbers in memory that grows with them, 8 bytes each. */
export class NumberColumn {
  private values: Float64Array
  private readonly empty: number

  /** @param empty what an item is that was not set */
  constructor(empty: number) {
    this.empty = empty
    this.values = new Float64Array(ROOM_FIRST).fill(empty)
  }

  at(index: number): number {
    return this.values[index] ?? this.empty
  }

  set(index: number, value: number): void {
    if (index >= this.values.length) this.grow(index)
    this.values[index] = value
  }

  private grow(index: number): void {
    const larger = new Float64Array(Math.max(2 * this.values.length, index + 1)).fill(this.empty)
    larger.set(this.values)
    this.values = larger
  }
}
