import { computeSha256, Hmac } from '../../platform/hmac.ts'
import { derive, Sealer } from '../../platform/sealer.ts'
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

/** Scope of a key: the same text of another caller, or to another URL, is another key. */
export interface KeyScope {
  readonly caller: Caller
  readonly method: string
  /** Path and query, as they were sent. */
  readonly url: string
  readonly key: string
}

/** SHA-256 of a body. */
export function computeDigest(bytes: Uint8Array | string): Uint8Array {
  return computeSha256(bytes)
}

const KEY_BYTES = 32
const HEAD_BYTES_LENGTH = 4

/**
 * Hides what idempotency stores: keys and bodies as keyed hashes, answers as authenticated
 * ciphertexts.
 *
 * All keys are derived from the secret that signs access tokens, each for its own purpose. A sealed
 * answer opens only in the place that it was sealed for. With another secret nothing is found, and
 * nothing can be read.
 */
export class AnswerSealer {
  private readonly hmac: Hmac
  private readonly sealer: Sealer

  constructor(secret: string | Buffer) {
    this.hmac = new Hmac(derive(secret, '', 'scoreline idempotency hashes', KEY_BYTES))
    this.sealer = new Sealer(secret, 'scoreline idempotency answers')
  }

  /** Names a key within its scope. */
  keyHash({ caller, method, url, key }: KeyScope): Buffer {
    const id = caller.kind === 'key' ? caller.keyId : caller.userId
    return this.hmac.compute(`key\n${JSON.stringify([caller.kind, id, method, url, key])}`)
  }

  /** Stands for the body that was sent with a key; the same body with another key differs. */
  bodyHash(keyHash: Uint8Array, bodyDigest: Uint8Array): Buffer {
    return this.hmac.compute('body\n', Buffer.concat([keyHash, bodyDigest]))
  }

  seal(keyHash: Uint8Array, { body, ...head }: KeptAnswer): Buffer {
    const headBytes = Buffer.from(JSON.stringify(head))
    const headLength = Buffer.alloc(HEAD_BYTES_LENGTH)
    headLength.writeUInt32LE(headBytes.length)
    return this.sealer.seal(keyHash, headLength, headBytes, body)
  }

  /** @throws Error if the bytes were altered, or sealed for another key or with another secret */
  open(keyHash: Uint8Array, sealed: Uint8Array): KeptAnswer {
    const plain = this.sealer.open(keyHash, sealed)
    const headEnd = HEAD_BYTES_LENGTH + plain.readUInt32LE(0)
    const head: Omit<KeptAnswer, 'body'> = JSON.parse(
      plain.toString('utf8', HEAD_BYTES_LENGTH, headEnd),
    )
    return { ...head, body: plain.subarray(headEnd) }
  }
}
