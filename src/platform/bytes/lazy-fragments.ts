import type { Utf8Writer } from './utf8-writer.ts'

/** Bytes that are left for what several holders prepare. */
export interface BytesLeft {
  bytes: number
}

interface LazyFragmentsOptions {
  readonly count: number
  /** The text at an index, which never changes. */
  readonly formatText: (index: number) => string
  /** Where too few are left, a text is made anew each time. */
  readonly left: BytesLeft
}

const WORD_BYTES = 4
const WORDS_MIN = 256
const NOT_PREPARED = -1

/**
 * As `PreparedFragments`, but each text is made and encoded when it is first written: a card may
 * have thousands, of which most are never written.
 */
export class LazyFragments {
  private readonly options: LazyFragmentsOptions
  private words = new Int32Array(WORDS_MIN)
  private used = 0
  /** Word at which each fragment begins. */
  private readonly starts: Int32Array
  private readonly lengths: Int32Array

  constructor(options: LazyFragmentsOptions) {
    this.options = options
    this.starts = new Int32Array(options.count).fill(NOT_PREPARED)
    this.lengths = new Int32Array(options.count)
  }

  write(into: Utf8Writer, index: number): void {
    const isPrepared = this.starts[index] !== NOT_PREPARED || this.prepare(index)
    if (isPrepared) into.writeWords(this.words, this.starts[index] ?? 0, this.lengths[index] ?? 0)
    else into.writeString(this.options.formatText(index))
  }

  private prepare(index: number): boolean {
    const { formatText, left } = this.options
    const encoded = Buffer.from(formatText(index))
    const words = Math.ceil(encoded.length / WORD_BYTES)
    if (words * WORD_BYTES > left.bytes) return false
    left.bytes -= words * WORD_BYTES
    this.reserve(words)
    const padded = Buffer.alloc(words * WORD_BYTES)
    encoded.copy(padded)
    for (let word = 0; word < words; word++) {
      this.words[this.used + word] = padded.readInt32LE(WORD_BYTES * word)
    }
    this.starts[index] = this.used
    this.lengths[index] = encoded.length
    this.used += words
    return true
  }

  private reserve(words: number): void {
    let length = this.words.length
    while (length < this.used + words) length *= 2
    if (length === this.words.length) return
    const larger = new Int32Array(length)
    larger.set(this.words)
    this.words = larger
  }
}
