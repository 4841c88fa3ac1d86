import type { ByteReader } from './bytes.ts'

/** Texts of at most 255 bytes, each found by its position: most readers want none. */
export class ShortTexts {
  readonly bytes: Buffer
  /** Position of the byte with the length of each text. */
  private readonly positions: Uint32Array

  constructor(from: ByteReader, count: number) {
    this.bytes = from.bytes
    this.positions = new Uint32Array(count)
    for (let index = 0; index < count; index++) {
      this.positions[index] = from.position
      from.skip(from.u8())
    }
  }

  /** @returns a view of the block; empty beyond the texts */
  at(index: number): Buffer {
    const start = this.startOf(index)
    return this.bytes.subarray(start, start + this.lengthOf(index))
  }

  startOf(index: number): number {
    return (this.positions[index] ?? this.bytes.length) + 1
  }

  lengthOf(index: number): number {
    return this.bytes[this.startOf(index) - 1] ?? 0
  }
}
