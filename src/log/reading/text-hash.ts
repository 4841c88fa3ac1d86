import { randomInt } from 'node:crypto'
import type { NameHasher } from '../blocks/columns.ts'

const SEED_END = 2 ** 32
const ASCII_MAX = 0x7f
/** A bit of each of the four bytes of a word that no ASCII character has. */
const BEYOND_ASCII = 0x80808080

/**
 * A hash of 64 bits of a text, as two numbers, with a random seed: of ten million texts, two are
 * confused once in 370,000 times. It needs no memory for a text, and no string for one of ASCII.
 */
export class TextHash implements NameHasher {
  private readonly seedHigh = randomInt(SEED_END) | 0
  private readonly seedLow = randomInt(SEED_END) | 0
  /** Both halves of the hash of the last text, before `mixed`. */
  high = 0
  low = 0

  ofText(text: string): void {
    this.high = this.seedHigh
    this.low = this.seedLow
    const { length } = text
    for (let at = 0; at < length; at += 4) {
      let word = 0
      const end = Math.min(at + 4, length)
      for (let place = at; place < end; place++) {
        const char = text.charCodeAt(place)
        if (char > ASCII_MAX) {
          this.ofWideText(text)
          return
        }
        word |= char << (8 * (place - at))
      }
      this.step(word)
    }
    this.high ^= length
  }

  /** The same for the bytes of a text. */
  ofUtf8(bytes: Uint8Array, start: number, end: number): void {
    this.high = this.seedHigh
    this.low = this.seedLow
    let at = start
    for (; at + 4 <= end; at += 4) {
      const word =
        (bytes[at] ?? 0) |
        ((bytes[at + 1] ?? 0) << 8) |
        ((bytes[at + 2] ?? 0) << 16) |
        ((bytes[at + 3] ?? 0) << 24)
      if ((word & BEYOND_ASCII) !== 0) {
        this.ofWideUtf8(bytes, start, end)
        return
      }
      this.step(word)
    }
    if (at < end) {
      let word = 0
      for (let place = at; place < end; place++) word |= (bytes[place] ?? 0) << (8 * (place - at))
      if ((word & BEYOND_ASCII) !== 0) {
        this.ofWideUtf8(bytes, start, end)
        return
      }
      this.step(word)
    }
    this.high ^= end - start
  }

  private ofWideUtf8(bytes: Uint8Array, start: number, end: number): void {
    this.ofWideText(Buffer.from(bytes.subarray(start, end)).toString())
  }

  /** A text with other characters, two code units a word, from other seeds. */
  private ofWideText(text: string): void {
    this.high = this.seedLow
    this.low = this.seedHigh
    for (let at = 0; at < text.length; at += 2) {
      const second = at + 1 < text.length ? text.charCodeAt(at + 1) : 0
      this.step(text.charCodeAt(at) | (second << 16))
    }
    this.high ^= text.length
  }

  /** The step of MurmurHash3 for four bytes, in two lanes that feed each other. */
  private step(word: number): void {
    let part = Math.imul(word, 0x239b961b)
    part = Math.imul((part << 15) | (part >>> 17), 0xab0e9789)
    const high = this.high ^ part
    this.high = (Math.imul(((high << 19) | (high >>> 13)) + this.low, 5) + 0x561ccd1b) | 0
    part = Math.imul(word, 0x38b34ae5)
    part = Math.imul((part << 16) | (part >>> 16), 0xa1e38b93)
    const low = this.low ^ part
    this.low = (Math.imul(((low << 17) | (low >>> 15)) + this.high, 5) + 0x0bcaa747) | 0
  }
}

/** The last step: each bit of the result depends on each bit of the value. @returns 0 or more */
export function mixed(value: number): number {
  let hash = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
