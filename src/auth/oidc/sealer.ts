import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const IV_BYTES = 12
const SALT_BYTES = 16
const TAG_BYTES = 16
/** Separates this use of the secret from others. */
const PURPOSE = 'scoreline single sign-on'

/**
 * Seals texts under the secret that signs access tokens: nobody else can read or alter them. Each
 * text has a key of its own, and opens only for the use that it was sealed for.
 */
export class TextSealer {
  private readonly secrets: readonly (string | Buffer)[]

  /** @param former the secret before the last rotation, which still opens; null: there is none */
  constructor(secret: string | Buffer, former: string | null) {
    this.secrets = former === null ? [secret] : [secret, former]
  }

  /** @returns base64url, about 60 characters longer than the text's own */
  seal(text: string, use: string): string {
    const [secret = ''] = this.secrets
    const salt = randomBytes(SALT_BYTES)
    const [key, iv] = keyOf(secret, salt)
    const cipher = createCipheriv(CIPHER, key, iv).setAAD(Buffer.from(use))
    const parts = [salt, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]
    return Buffer.concat(parts).toString('base64url')
  }

  /** @returns null if the text was altered, or sealed for another use or with another secret */
  open(sealed: string, use: string): string | null {
    const bytes = Buffer.from(sealed, 'base64url')
    if (bytes.length < SALT_BYTES + TAG_BYTES) return null
    for (const secret of this.secrets) {
      const [key, iv] = keyOf(secret, bytes.subarray(0, SALT_BYTES))
      const decipher = createDecipheriv(CIPHER, key, iv)
        .setAAD(Buffer.from(use))
        .setAuthTag(bytes.subarray(-TAG_BYTES))
      try {
        const text = decipher.update(bytes.subarray(SALT_BYTES, -TAG_BYTES))
        return Buffer.concat([text, decipher.final()]).toString('utf8')
      } catch {
        // Another secret may have sealed it.
      }
    }
    return null
  }
}

function keyOf(secret: string | Buffer, salt: Uint8Array): [key: Buffer, iv: Buffer] {
  const bytes = Buffer.from(hkdfSync('sha256', secret, salt, PURPOSE, KEY_BYTES + IV_BYTES))
  return [bytes.subarray(0, KEY_BYTES), bytes.subarray(KEY_BYTES)]
}
