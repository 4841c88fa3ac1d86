import { endianness } from 'node:os'
import { finishSteps, type Steps } from '../steps.ts'

/** A double. No UTF-8 has the bytes of a NaN, whose bits alone might not be kept. */
const WORD_BYTES = 8
const TEXTS_A_STEP = 500

/**
 * Texts that are written again and again, prepared as UTF-8 and copied word by word. Copying byte
 * by byte takes three times as long; for short texts, a native call for each takes longer too. With
 * `Utf8Writer.writeString` in its place, parsing, scoring and writing a record of a batch takes 44 %
 * more: `npm run bench -- engine`.
 */
export class PreparedFragments {
  /** Most bytes that one write touches: the last word may reach beyond the fragment's end. */
  readonly roomBytesMax: number
  private readonly words: Float64Array
  /** Word at which each fragment begins, and at which the last one ends. */
  private readonly starts: Int32Array
  private readonly lengths: Int32Array

  private constructor(words: Float64Array, starts: Int32Array, lengths: Int32Array) {
    this.words = words
    this.starts = starts
    this.lengths = lengths
    this.roomBytesMax = lengths.reduce((most, length) => Math.max(most, length), 0) + WORD_BYTES
  }

  static of(texts: readonly string[]): PreparedFragments {
    return finishSteps(PreparedFragments.make(texts))
  }

  /** In steps: the texts of the largest card take 15 ms. */
  static *make(texts: readonly string[]): Steps<PreparedFragments> {
    const lengths = new Int32Array(texts.length)
    const starts = new Int32Array(texts.length + 1)
    for (const [index, text] of texts.entries()) {
      if (index % TEXTS_A_STEP === 0) yield
      const length = Buffer.byteLength(text)
      lengths[index] = length
      starts[index + 1] = (starts[index] ?? 0) + Math.ceil(length / WORD_BYTES)
    }
    const words = new Float64Array(starts[texts.length] ?? 0)
    const padded = Buffer.from(words.buffer)
    for (const [index, text] of texts.entries()) {
      if (index % TEXTS_A_STEP === 0) yield
      padded.write(text, WORD_BYTES * (starts[index] ?? 0))
    }
    // They are written with the low byte first.
    if (endianness() === 'BE') padded.swap64()
    return new PreparedFragments(words, starts, lengths)
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
