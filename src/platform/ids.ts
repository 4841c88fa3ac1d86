import { randomFillSync } from 'node:crypto'

/** 62^8 ms reach beyond the year 8000. */
const TIME_CHARS = 8
/** 14 characters of 62 are 83 random bits. */
const RANDOM_CHARS = 14
const ID_CHARS_MAX = 64

type IdPrefix =
  | 'mod_'
  | 'dep_'
  | 'ch_'
  | 'key_'
  | 'req_'
  | 'bsl_'
  | 'usr_'
  | 'team_'
  | 'aud_'
  | 'fam_'
  | 'svc_'
  | 'job_'
  | 'rbl_'
  | 'imp_'
  | 'chg_'
  | 'whk_'
  | 'evt_'
  | 'dlv_'

/**
 * A new identifier: prefix, time, then at least 80 random bits, in `[0-9A-Za-z]`.
 *
 * Identifiers of one prefix sort by their millisecond in byte order.
 *
 * @param epochMs when the thing was made, milliseconds since 1970
 */
export function newId(prefix: IdPrefix, epochMs: number): string {
  return prefix + timePart(epochMs) + randomBase62(RANDOM_CHARS)
}

/**
 * An identifier as `newId` makes them, for work that may be repeated and then has the same one.
 *
 * @param digest 32 bytes that nobody can guess, as of a hash with a secret key
 */
export function idOfDigest(prefix: IdPrefix, epochMs: number, digest: Uint8Array): string {
  return prefix + timePart(epochMs) + base62OfDigest(digest, RANDOM_CHARS)
}

/**
 * Tells whether a text from outside has the form of an identifier, so that looking it up makes
 * sense.
 */
export function isId(text: string, prefix: IdPrefix): boolean {
  return text.length <= ID_CHARS_MAX && text.startsWith(prefix) && /^[0-9A-Za-z_]+$/.test(text)
}

/** When the thing with this id was made, milliseconds since 1970; null for an id without a time. */
export function timeOfId(id: string): number | null {
  const start = id.indexOf('_') + 1
  const time = id.slice(start, start + TIME_CHARS)
  return time.length === TIME_CHARS ? fromBase62(time) : null
}

let lastMs = -1
let lastPart = ''

/** Remembers the last millisecond: under load many identifiers share it. */
function timePart(epochMs: number): string {
  if (epochMs !== lastMs) {
    lastMs = epochMs
    lastPart = toBase62(epochMs, TIME_CHARS)
  }
  return lastPart
}

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
