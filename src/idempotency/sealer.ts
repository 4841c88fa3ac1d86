import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import type { Caller } from '../access/caller.ts'

/** The answer to a request, as it is given again. */
export interface KeptAnswer {
  readonly status: number
  /** Content type of the body; null without a body. */
  readonly contentType: string | null
  readonly cacheControl: string | null
  readonly requestId: string
  readonly body: Uint8Array
}

/** Where a key counts: the same text of another caller, or to another URL, is another key. */
export interface KeyScope {
  readonly caller: Caller
  readonly method: string
  /** Path and query, as they were sent. */
  readonly url: string
  readonly key: string
}

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const IV_BYTES = 12
const SALT_BYTES = 16
const TAG_BYTES = 16
/** First byte of a sealed answer. */
const FORM = 1
const HEAD_BYTES_LENGTH = 4

/**
 * Hides what idempotency stores: keys and bodies as keyed hashes, answers as authenticated
 * ciphertexts.
 *
 * All keys are derived from the secret that signs access tokens, each for its own purpose. Each
 * answer has a key of its own, so that no number of answers wears out a key. A sealed answer opens
 * only in the place that it was sealed for. With another secret nothing is found, and nothing can
 * be read.
 */
export class AnswerSealer {
  private readonly hashingKey: Buffer
  private readonly sealingKey: Buffer

  constructor(secret: string | Buffer) {
    this.hashingKey = derived(secret, '', 'scoreline idempotency hashes', KEY_BYTES)
    this.sealingKey = derived(secret, '', 'scoreline idempotency answers', KEY_BYTES)
  }

  /** Names a key within its scope. */
  keyHash({ caller, method, url, key }: KeyScope): Buffer {
    const id = caller.kind === 'key' ? caller.keyId : caller.userId
    return this.hashOf('key', JSON.stringify([caller.kind, id, method, url, key]))
  }

  /** Stands for the body that was sent with a key; the same body with another key differs. */
  bodyHash(keyHash: Uint8Array, bodyDigest: Uint8Array): Buffer {
    return this.hashOf('body', Buffer.concat([keyHash, bodyDigest]))
  }

  seal(keyHash: Uint8Array, { body, ...head }: KeptAnswer): Buffer {
    const salt = randomBytes(SALT_BYTES)
    const [key, iv] = this.sealingKeyOf(salt)
    const cipher = createCipheriv(CIPHER, key, iv).setAAD(keyHash)
    const headBytes = Buffer.from(JSON.stringify(head))
    const headLength = Buffer.alloc(HEAD_BYTES_LENGTH)
    headLength.writeUInt32LE(headBytes.length)
    return Buffer.concat([
      Uint8Array.of(FORM),
      salt,
      cipher.update(headLength),
      cipher.update(headBytes),
      cipher.update(body),
      cipher.final(),
      cipher.getAuthTag(),
    ])
  }

  /** @throws Error if the bytes were altered, or sealed for another key or with another secret */
  open(keyHash: Uint8Array, sealed: Uint8Array): KeptAnswer {
    if (sealed[0] !== FORM || sealed.length < 1 + SALT_BYTES + HEAD_BYTES_LENGTH + TAG_BYTES) {
      throw new Error('this is not a sealed answer')
    }
    const [key, iv] = this.sealingKeyOf(sealed.subarray(1, 1 + SALT_BYTES))
    const decipher = createDecipheriv(CIPHER, key, iv)
      .setAAD(keyHash)
      .setAuthTag(sealed.subarray(-TAG_BYTES))
    const text = sealed.subarray(1 + SALT_BYTES, -TAG_BYTES)
    const plain = Buffer.concat([decipher.update(text), decipher.final()])
    const headEnd = HEAD_BYTES_LENGTH + plain.readUInt32LE(0)
    const head: Omit<KeptAnswer, 'body'> = JSON.parse(
      plain.toString('utf8', HEAD_BYTES_LENGTH, headEnd),
    )
    return { ...head, body: plain.subarray(headEnd) }
  }

  private hashOf(purpose: string, content: string | Buffer): Buffer {
    return createHmac('sha256', this.hashingKey).update(`${purpose}\n`).update(content).digest()
  }

  private sealingKeyOf(salt: Uint8Array): [key: Buffer, iv: Buffer] {
    const bytes = derived(this.sealingKey, salt, 'answer', KEY_BYTES + IV_BYTES)
    return [bytes.subarray(0, KEY_BYTES), bytes.subarray(KEY_BYTES)]
  }
}

function derived(secret: string | Buffer, salt: string | Uint8Array, use: string, length: number) {
  return Buffer.from(hkdfSync('sha256', secret, salt, use, length))
}
