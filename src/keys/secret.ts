import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { Environment } from '../auth/caller.ts'
import { randomBase62, toBase62 } from '../base62.ts'

const BODY_CHARS = 32
const CHECKSUM_CHARS = 6
const PREFIX_CHARS = 12
const FORM = /^sk_(?:live|test)_[0-9A-Za-z]{38}$/

/** A new key secret: 32 characters, 190 random bits, and 6 of checksum behind the prefix. */
export function newKeySecret(environment: Environment | null): string {
  const body = (environment === 'staging' ? 'sk_test_' : 'sk_live_') + randomBase62(BODY_CHARS)
  return body + checksum(body)
}

/** Whether a text can be a key at all: tells a typing error or a guess without asking the database. */
export function isKeySecret(text: string): boolean {
  return FORM.test(text) && text.endsWith(checksum(text.slice(0, -CHECKSUM_CHARS)))
}

/** What is stored of a key. A plain hash is enough for a secret of 190 random bits. */
export function keyHashOf(keySecret: string): string {
  return hash('sha256', keySecret, 'hex')
}

/** The leading characters, by which people tell keys apart. */
export function keyPrefixOf(keySecret: string): string {
  return keySecret.slice(0, PREFIX_CHARS)
}

/** CRC-32 in base 62; 62^6 is above 2^32. */
function checksum(body: string): string {
  return toBase62(crc32(body), CHECKSUM_CHARS)
}
