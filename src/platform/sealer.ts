import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const IV_BYTES = 12
const SALT_BYTES = 16
const TAG_BYTES = 16
const NAME_BYTES = 8
/** First byte of what is sealed: the key is of one sealing alone, and gives the initial value. */
const FORM_1 = 1
/** Many sealings share a key, and each has its own initial value: that takes a fifth of the time. */
const FORM_2 = 2
const HEAD_BYTES = { [FORM_1]: 1 + SALT_BYTES, [FORM_2]: 1 + SALT_BYTES + IV_BYTES }
/** Of 2^32 sealings under a key two may have the same initial value. */
const SEALINGS_MAX = 2 ** 20

/** A key of this process, and how often it was used. */
interface SealingKey {
  readonly salt: Buffer
  readonly key: KeyObject
  sealings: number
}

/**
 * Seals bytes under a secret: nobody else can read or alter them. Each purpose has keys of its own,
 * each process others, and a key is left long before it is worn out. What is sealed opens only for
 * the use that it was sealed for.
 */
export class Sealer {
  private readonly key: Buffer
  private sealingKey: SealingKey | null = null
  /** Tells which secret is needed, without showing it. */
  readonly name: string

  /** @param purpose separates this use of the secret from others */
  constructor(secret: string | Buffer, purpose: string) {
    this.key = derive(secret, '', purpose, KEY_BYTES)
    this.name = derive(secret, '', `${purpose} name`, NAME_BYTES).toString('hex')
  }

  /** @param parts are sealed as one text */
  seal(use: string | Uint8Array, ...parts: readonly Uint8Array[]): Buffer {
    const { salt, key } = this.takeKey()
    const iv = randomBytes(IV_BYTES)
    const cipher = createCipheriv(CIPHER, key, iv).setAAD(Buffer.from(use))
    const texts = parts.map((part) => cipher.update(part))
    const head = Uint8Array.of(FORM_2)
    return Buffer.concat([head, salt, iv, ...texts, cipher.final(), cipher.getAuthTag()])
  }

  /** @throws Error if the bytes were altered, or sealed for another use or with another secret */
  open(use: string | Uint8Array, sealed: Uint8Array): Buffer {
    const form = sealed[0]
    if (form !== FORM_1 && form !== FORM_2) throw new Error('these bytes are not sealed')
    const headBytes = HEAD_BYTES[form]
    if (sealed.length < headBytes + TAG_BYTES) throw new Error('these bytes are not sealed')
    const { key, iv } = this.deriveKey(sealed.subarray(1, 1 + SALT_BYTES))
    const initial = form === FORM_1 ? iv : sealed.subarray(1 + SALT_BYTES, headBytes)
    const decipher = createDecipheriv(CIPHER, key, initial)
      .setAAD(Buffer.from(use))
      .setAuthTag(sealed.subarray(-TAG_BYTES))
    const text = decipher.update(sealed.subarray(headBytes, -TAG_BYTES))
    return Buffer.concat([text, decipher.final()])
  }

  private takeKey(): SealingKey {
    let taken = this.sealingKey
    if (taken === null || taken.sealings >= SEALINGS_MAX) {
      const salt = randomBytes(SALT_BYTES)
      taken = { salt, key: this.deriveKey(salt).key, sealings: 0 }
      this.sealingKey = taken
    }
    taken.sealings++
    return taken
  }

  private deriveKey(salt: Uint8Array): { key: KeyObject; iv: Buffer } {
    const bytes = derive(this.key, salt, 'sealed', KEY_BYTES + IV_BYTES)
    // A cipher makes such an object of bytes each time, which takes longer than a short text.
    return { key: createSecretKey(bytes.subarray(0, KEY_BYTES)), iv: bytes.subarray(KEY_BYTES) }
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
