import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const IV_BYTES = 12
const SALT_BYTES = 16
const TAG_BYTES = 16
const NAME_BYTES = 8
/** First byte of what is sealed. */
const FORM = 1

/**
 * Seals bytes under a secret: nobody else can read or alter them. Each purpose has keys of its own,
 * and so has each sealing, so that no number of them wears out a key. What is sealed opens only for
 * the use that it was sealed for.
 */
export class Sealer {
  private readonly key: Buffer
  /** Tells which secret is needed, without showing it. */
  readonly name: string

  /** @param purpose separates this use of the secret from others */
  constructor(secret: string | Buffer, purpose: string) {
    this.key = derive(secret, '', purpose, KEY_BYTES)
    this.name = derive(secret, '', `${purpose} name`, NAME_BYTES).toString('hex')
  }

  /** @param parts are sealed as one text */
  seal(use: string | Uint8Array, ...parts: readonly Uint8Array[]): Buffer {
    const salt = randomBytes(SALT_BYTES)
    const cipher = createCipheriv(CIPHER, ...this.deriveKey(salt)).setAAD(Buffer.from(use))
    const texts = parts.map((part) => cipher.update(part))
    return Buffer.concat([Uint8Array.of(FORM), salt, ...texts, cipher.final(), cipher.getAuthTag()])
  }

  /** @throws Error if the bytes were altered, or sealed for another use or with another secret */
  open(use: string | Uint8Array, sealed: Uint8Array): Buffer {
    if (sealed[0] !== FORM || sealed.length < 1 + SALT_BYTES + TAG_BYTES) {
      throw new Error('these bytes are not sealed')
    }
    const decipher = createDecipheriv(CIPHER, ...this.deriveKey(sealed.subarray(1, 1 + SALT_BYTES)))
      .setAAD(Buffer.from(use))
      .setAuthTag(sealed.subarray(-TAG_BYTES))
    const text = decipher.update(sealed.subarray(1 + SALT_BYTES, -TAG_BYTES))
    return Buffer.concat([text, decipher.final()])
  }

  private deriveKey(salt: Uint8Array): [key: Buffer, iv: Buffer] {
    const bytes = derive(this.key, salt, 'sealed', KEY_BYTES + IV_BYTES)
    return [bytes.subarray(0, KEY_BYTES), bytes.subarray(KEY_BYTES)]
  }
}

/** Derives a key for one purpose from a secret. */
export function derive(
  secret: string | Buffer,
  salt: string | Uint8Array,
  purpose: string,
  bytes: number,
): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, salt, purpose, bytes))
}
