import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { KEY_PREFIX } from '../../http/access/bearer.ts'
import type { Environment } from '../../http/access/caller.ts'
import { randomBase62, toBase62 } from '../../platform/ids.ts'

const BODY_CHARS = 32
const CHECKSUM_CHARS = 6
const PREFIX_CHARS = 12
const LIVE_PREFIX = `${KEY_PREFIX}live_`
const TEST_PREFIX = `${KEY_PREFIX}test_`
const FORM = new RegExp(
  `^(?:${LIVE_PREFIX}|${TEST_PREFIX})[0-9A-Za-z]{${BODY_CHARS + CHECKSUM_CHARS}}$`,
)

/** Creates a key secret: a prefix, 32 random characters (190 bits) and 6 characters of checksum. */
export function newKeySecret(environment: Environment | null): string {
  const body = (environment === 'staging' ? TEST_PREFIX : LIVE_PREFIX) + randomBase62(BODY_CHARS)
  return body + secretChecksum(body)
}

/**
 * Tells whether a text is a well-formed key. Detects typing errors and guesses without a database
 * query.
 */
export function isKeySecret(text: string): boolean {
  return FORM.test(text) && text.endsWith(secretChecksum(text.slice(0, -CHECKSUM_CHARS)))
}

/** The stored hash of a key. A plain hash is sufficient for a secret of 190 random bits. */
export function hashKey(keySecret: string): string {
  return hash('sha256', keySecret, 'hex')
}

/** The leading characters, which identify a key to people. */
export function readKeyPrefix(keySecret: string): string {
  return keySecret.slice(0, PREFIX_CHARS)
}

/** Checksum of a secret: CRC-32 in base 62, 6 characters; 62^6 is above 2^32. */
export function secretChecksum(body: string): string {
  return toBase62(crc32(body), CHECKSUM_CHARS)
}
