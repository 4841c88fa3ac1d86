import { SERVICE_ACCOUNT_PREFIX } from '../../http/access/bearer.ts'
import { randomBase62 } from '../../platform/ids.ts'
import { secretChecksum } from '../keys/secret.ts'

const BODY_CHARS = 32
const CHECKSUM_CHARS = 6
const FORM = new RegExp(`^${SERVICE_ACCOUNT_PREFIX}[0-9A-Za-z]{${BODY_CHARS + CHECKSUM_CHARS}}$`)

/** A token of a service account: a prefix, 32 random characters (190 bits), 6 of checksum. */
export function newAccountToken(): string {
  const body = SERVICE_ACCOUNT_PREFIX + randomBase62(BODY_CHARS)
  return body + secretChecksum(body)
}

/** Tells whether a text is a well-formed token. Detects guesses without a database query. */
export function isAccountToken(text: string): boolean {
  return FORM.test(text) && text.endsWith(secretChecksum(text.slice(0, -CHECKSUM_CHARS)))
}
