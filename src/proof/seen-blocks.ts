const BITS = 8

/** Which drained blocks of a tree were met: one bit for each, as a log has hundreds of millions. */
export class SeenBlocks {
  private readonly bits: Uint8Array

  /** @param size of the tree */
  constructor(size: number) {
    this.bits = new Uint8Array(Math.ceil(size / BITS))
  }

  has(sequence: number): boolean {
    return (((this.bits[Math.floor(sequence / BITS)] ?? 0) >> (sequence % BITS)) & 1) === 1
  }

  /** @returns whether the block was met before */
  add(sequence: number): boolean {
    const wasThere = this.has(sequence)
    const at = Math.floor(sequence / BITS)
    this.bits[at] = (this.bits[at] ?? 0) | (1 << (sequence % BITS))
    return wasThere
  }
}
