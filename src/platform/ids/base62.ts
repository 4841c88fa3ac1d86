import { randomFillSync } from 'node:crypto'

/** In byte order, so that texts of one length sort as their numbers do. */
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

const pool = Buffer.alloc(4096)
let poolUsed = pool.length

/**
 * Writes a number in base 62, with leading zeros.
 *
 * @param value a whole number from 0, below 62^`chars`
 */
export function toBase62(value: number, chars: number): string {
  let rest = value
  let text = ''
  for (let index = 0; index < chars; index++) {
    text = ALPHABET[rest % ALPHABET.length] + text
    rest = Math.floor(rest / ALPHABET.length)
  }
  return text
}

/** @returns null for a text with other characters */
export function fromBase62(text: string): number | null {
  let value = 0
  for (const character of text) {
    const digit = ALPHABET.indexOf(character)
    if (digit < 0) return null
    value = value * ALPHABET.length + digit
  }
  return value
}

/** Unpredictable characters of `[0-9A-Za-z]`, each equally likely: 5.95 bits for each. */
export function randomBase62(chars: number): string {
  let text = ''
  while (text.length < chars) {
    if (poolUsed === pool.length) {
      randomFillSync(pool)
      poolUsed = 0
    }
    // Six bits give 0..63. The two values beyond the alphabet are dropped: a remainder would favour
    // some.
    const index = (pool[poolUsed++] ?? 0) & 63
    if (index < ALPHABET.length) text += ALPHABET[index]
  }
  return text
}

/**
 * The last characters of a digest as a number in base 62.
 *
 * @param digest with some 64 bits more than the characters hold: then each one is equally likely
 */
export function base62OfDigest(digest: Uint8Array, chars: number): string {
  const base = BigInt(ALPHABET.length)
  let rest = BigInt(`0x${Buffer.from(digest).toString('hex')}`)
  let text = ''
  for (let index = 0; index < chars; index++) {
    text = ALPHABET[Number(rest % base)] + text
    rest /= base
  }
  return text
}
