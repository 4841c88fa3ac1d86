import { endianness } from 'node:os'

/** A double. No UTF-8 has the bytes of a NaN, whose bits alone might not be kept. */
const WORD_BYTES = 8

/**
 * Texts that are written again and again, prepared as UTF-8 and copied word by word. Copying byte
 * by byte takes three times as long; for short texts, a native call for each takes longer too.
 */
export class PreparedFragments {
  /** Most bytes that one write touches: the last word may reach beyond the fragment's end. */
  readonly roomBytesMax: number
  private readonly words: Float64Array
  /** Word at which each fragment begins, and at which the last one ends. */
  private readonly starts: Int32Array
  private readonly lengths: Int32Array

  constructor(texts: readonly string[]) {
    this.lengths = Int32Array.from(texts, (text) => Buffer.byteLength(text))
    this.starts = new Int32Array(texts.length + 1)
    for (let index = 0; index < texts.length; index++) {
      const words = Math.ceil((this.lengths[index] ?? 0) / WORD_BYTES)
      this.starts[index + 1] = (this.starts[index] ?? 0) + words
    }
    this.words = new Float64Array(this.starts[texts.length] ?? 0)
    const padded = Buffer.from(this.words.buffer)
    for (let index = 0; index < texts.length; index++) {
      padded.write(texts[index] ?? '', WORD_BYTES * (this.starts[index] ?? 0))
    }
    // They are written with the low byte first.
    if (endianness() === 'BE') padded.swap64()
    this.roomBytesMax =
      this.lengths.reduce((most, length) => Math.max(most, length), 0) + WORD_BYTES
  }

  countBytes(index: number): number {
    return this.lengths[index] ?? 0
  }

  /**
   * Writes one fragment; up to seven bytes after it may be overwritten.
   *
   * @param bytes with room for `roomBytesMax`
   * @returns offset at which the fragment ends
   */
  write(bytes: DataView, from: number, index: number): number {
    const { words } = this
    const end = this.starts[index + 1] ?? 0
    let at = from
    for (let word = this.starts[index] ?? 0; word < end; word++) {
      bytes.setFloat64(at, words[word] ?? 0, true)
      at += WORD_BYTES
    }
    return from + (this.lengths[index] ?? 0)
  }
}
