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
    const encoded = texts.map((text) => Buffer.from(text))
    this.lengths = Int32Array.from(encoded, ({ length }) => length)
    this.starts = new Int32Array(texts.length + 1)
    for (const [index, { length }] of encoded.entries()) {
      this.starts[index + 1] = (this.starts[index] ?? 0) + Math.ceil(length / WORD_BYTES)
    }
    const padded = Buffer.alloc(WORD_BYTES * (this.starts[texts.length] ?? 0))
    for (const [index, fragment] of encoded.entries()) {
      fragment.copy(padded, WORD_BYTES * (this.starts[index] ?? 0))
    }
    this.words = Float64Array.from({ length: padded.length / WORD_BYTES }, (_, word) =>
      padded.readDoubleLE(WORD_BYTES * word),
    )
    this.roomBytesMax =
      this.lengths.reduce((most, length) => Math.max(most, length), 0) + WORD_BYTES
  }

  bytesOf(index: number): number {
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
