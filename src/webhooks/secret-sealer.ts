import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const IV_BYTES = 12
const TAG_BYTES = 16
const NAME_BYTES = 8
/** First byte of a sealed secret. */
const FORM = 1

interface SealingKey {
  /** Tells which secret of the service a row needs, without showing it. */
  readonly name: string
  readonly key: Buffer
}

/**
 * Hides the keys of webhooks from whoever reads the database: authenticated encryption under keys
 * derived from the secrets that sign access tokens. A sealed key opens only for its own webhook.
 * The present secret seals; the former one still opens.
 */
export class SecretSealer {
  private readonly present: SealingKey
  private readonly keys: ReadonlyMap<string, SealingKey>

  constructor(secret: string | Buffer, formerSecret: string | null) {
    this.present = keyOf(secret)
    const keys = [this.present, ...(formerSecret === null ? [] : [keyOf(formerSecret)])]
    this.keys = new Map(keys.map((key) => [key.name, key]))
  }

  /** Name of the key that seals. */
  get sealedWith(): string {
    return this.present.name
  }

  seal(webhookId: string, secret: Uint8Array): Buffer {
    const iv = randomBytes(IV_BYTES)
    const cipher = createCipheriv(CIPHER, this.present.key, iv).setAAD(Buffer.from(webhookId))
    const text = Buffer.concat([cipher.update(secret), cipher.final()])
    return Buffer.concat([Uint8Array.of(FORM), iv, text, cipher.getAuthTag()])
  }

  /**
   * @param sealedWith name of the key that sealed it
   * @throws Error if the secret of the service is another one, or the bytes were altered
   */
  open(webhookId: string, sealed: Uint8Array, sealedWith: string): Buffer {
    const found = this.keys.get(sealedWith)
    if (found === undefined || sealed[0] !== FORM) {
      throw new Error(
        'the secret of the webhook was encrypted with another JWT_SECRET: rotate the secret',
      )
    }
    const bytes = Buffer.from(sealed)
    const iv = bytes.subarray(1, 1 + IV_BYTES)
    const decipher = createDecipheriv(CIPHER, found.key, iv)
      .setAAD(Buffer.from(webhookId))
      .setAuthTag(bytes.subarray(-TAG_BYTES))
    const text = bytes.subarray(1 + IV_BYTES, -TAG_BYTES)
    return Buffer.concat([decipher.update(text), decipher.final()])
  }
}

function keyOf(secret: string | Buffer): SealingKey {
  const derived = (use: string, length: number) =>
    Buffer.from(hkdfSync('sha256', secret, '', use, length))
  return {
    name: derived('scoreline webhook key name', NAME_BYTES).toString('hex'),
    key: derived('scoreline webhook secrets', KEY_BYTES),
  }
}
