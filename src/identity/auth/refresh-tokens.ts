import { createHmac, hash, hkdfSync, randomBytes } from 'node:crypto'

const TOKEN_BYTES = 32
const FORM = /^[\w-]{43}$/
/** Separates this use of the secret from that of signing access tokens. */
const KEY_PURPOSE = 'scoreline refresh token successor'

/** A refresh token that nobody can guess: 256 random bits. */
export function newRefreshToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url')
}

/** Tells whether a text can be a refresh token at all, so that looking it up makes sense. */
export function isRefreshToken(text: string): boolean {
  return FORM.test(text)
}

/**
 * Returns what is stored of a token, hexadecimal. A plain hash is enough for a secret of 256 bits.
 */
export function hashRefreshToken(token: string): string {
  return hash('sha256', token, 'hex')
}

/**
 * Makes the token that replaces another one.
 *
 * The successor is derived, not random: only hashes are stored, and yet a client that lost the
 * response, or its second tab, must get the same successor once more. A second random one would
 * fork the family, and a thief's fork would look like the owner's. Without the key a successor is
 * as hard to guess as a random one, even with its predecessor.
 */
export class SuccessorMaker {
  private readonly key: Buffer

  /** @param secret that of the access tokens' signatures, the same in all replicas */
  constructor(secret: string | Buffer) {
    this.key = Buffer.from(hkdfSync('sha256', secret, '', KEY_PURPOSE, TOKEN_BYTES))
  }

  deriveSuccessor(token: string): string {
    return createHmac('sha256', this.key).update(token).digest('base64url')
  }
}
