import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { type Environment, KEY_PREFIX, SERVICE_ACCOUNT_PREFIX } from '../../http/access/caller.ts'
import { randomBase62, toBase62 } from '../../platform/ids.ts'

const BODY_CHARS = 32
const CHECKSUM_CHARS = 6
const PREFIX_CHARS = 12
const LIVE_PREFIX = `${KEY_PREFIX}live_`
const TEST_PREFIX = `${KEY_PREFIX}test_`
const KEY = makePattern(`(?:${LIVE_PREFIX}|${TEST_PREFIX})`)
const ACCOUNT_TOKEN = makePattern(SERVICE_ACCOUNT_PREFIX)

/** Creates a key secret: a prefix, 32 random characters (190 bits) and 6 characters of checksum. */
export function newKeySecret(environment: Environment | null): string {
  return newSecret(environment === 'staging' ? TEST_PREFIX : LIVE_PREFIX)
}

/** A token of a service account: a prefix, and what a key has after its own. */
export function newAccountToken(): string {
  return newSecret(SERVICE_ACCOUNT_PREFIX)
}

/**
 * Tells whether a text is a well-formed key. Detects typing errors and guesses without a database
 * query.
 */
export function isKeySecret(text: string): boolean {
  return KEY.test(text) && hasChecksum(text)
}

/** Tells whether a text is a well-formed token of a service account. */
export function isAccountToken(text: string): boolean {
  return ACCOUNT_TOKEN.test(text) && hasChecksum(text)
}

/** The stored hash of a key. A plain hash is sufficient for a secret of 190 random bits. */
export function hashKey(keySecret: string): string {
  return hash('sha256', keySecret, 'hex')
}

/** The leading characters, which identify a key to people. */
export function readKeyPrefix(keySecret: string): string {
  return keySecret.slice(0, PREFIX_CHARS)
}

function makePattern(prefix: string): RegExp {
  return new RegExp(`^${prefix}[0-9A-Za-z]{${BODY_CHARS + CHECKSUM_CHARS}}$`)
}

function newSecret(prefix: string): string {
  const body = prefix + randomBase62(BODY_CHARS)
  return body + secretChecksum(body)
}

function hasChecksum(text: string): boolean {
  return text.endsWith(secretChecksum(text.slice(0, -CHECKSUM_CHARS)))
}

/** Checksum of a secret: CRC-32 in base 62, 6 characters; 62^6 is above 2^32. */
function secretChecksum(body: string): string {
  return toBase62(crc32(body), CHECKSUM_CHARS)
}
