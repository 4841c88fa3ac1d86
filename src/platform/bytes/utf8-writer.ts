import type { PreparedFragments } from './prepared-fragments.ts'

/** A longer text is written faster by a native call. */
const SHORT_MAX = 40
export const UTF8_BYTES_MAX = 3
const WORD_BYTES = 4

/**
 * A text that grows at its end, as UTF-8 ready to be sent: joining as many strings costs twice as
 * much.
 */
export class Utf8Writer {
  private bytes: Buffer
  private view: DataView
  private used = 0

  /** @param memory to write into; a text that outgrows it is copied into memory twice as large */
  constructor(memory: Buffer) {
    this.bytes = memory
    this.view = viewBytes(memory)
  }

  /** The whole memory that holds the text. */
  get memory(): Buffer {
    return this.bytes
  }

  get length(): number {
    return this.used
  }

  writeString(text: string): void {
    this.reserve(UTF8_BYTES_MAX * text.length)
    this.used = writeText(this.bytes, this.used, text)
  }

  writeFragment(fragments: PreparedFragments, index: number): void {
    this.reserve(fragments.roomBytesMax)
    this.used = fragments.write(this.view, this.used, index)
  }

  /** Writes the fragments with these indices, in their order. */
  writeFragments(fragments: PreparedFragments, indices: Int32Array): void {
    for (let n = 0; n < indices.length; n++) this.writeFragment(fragments, indices[n] ?? 0)
  }

  /**
   * Writes a prepared text, word by word.
   *
   * @param words the text as UTF-8, four bytes each, the first one lowest
   * @param first index of its first word
   * @param bytes how long it is
   */
  writeWords(words: Int32Array, first: number, bytes: number): void {
    this.reserve(bytes + WORD_BYTES)
    const { view, used } = this
    const end = used + bytes
    for (let at = used, word = first; at < end; at += WORD_BYTES, word++) {
      view.setInt32(at, words[word] ?? 0, true)
    }
    this.used = end
  }

  /** Replaces the byte at an offset by an ASCII character. */
  replace(at: number, char: string): void {
    this.bytes[at] = char.charCodeAt(0)
  }

  get written(): Buffer {
    return this.bytes.subarray(0, this.used)
  }

  private reserve(bytes: number): void {
    const wanted = this.used + bytes
    if (wanted <= this.bytes.length) return
    let length = 2 * this.bytes.length
    while (length < wanted) length *= 2
    const larger = Buffer.allocUnsafeSlow(length)
    this.bytes.copy(larger, 0, 0, this.used)
    this.bytes = larger
    this.view = viewBytes(larger)
  }
}

function viewBytes({ buffer, byteOffset, length }: Buffer): DataView {
  return new DataView(buffer, byteOffset, length)
}

/**
 * Writes a text as UTF-8.
 *
 * @param bytes with room for `UTF8_BYTES_MAX` for each UTF-16 unit of the text
 * @returns offset at which the text ends
 */
export function writeText(bytes: Buffer, from: number, text: string): number {
  const { length } = text
  if (length > SHORT_MAX) return from + bytes.write(text, from)
  for (let index = 0; index < length; index++) {
    const code = text.charCodeAt(index)
    if (code > 0x7f) return from + bytes.write(text, from)
    bytes[from + index] = code
  }
  return from + length
}
