import { base62OfDigest, fromBase62, randomBase62, toBase62 } from './base62.ts'

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
