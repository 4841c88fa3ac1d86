import type { AnswerSealer, KeyScope } from './sealer.ts'

/** Bytes of the hash of a key that name it in Redis and in the log. */
const SHORT_KEY_BYTES = 16
const TAG_BYTES = 8

/** A key by one secret of the service, and what stands for the body that came with it. */
export class AskedHash {
  readonly sealer: AnswerSealer
  readonly keyHash: Buffer
  /**
   * Stands for the body where the whole hash is not stored: 8 bytes of its digest, hidden by bytes of
   * the key's hash, which is random without the secret, and of which the part that is used here is
   * stored nowhere.
   */
  readonly bodyTag: Uint8Array
  private readonly bodyDigest: Uint8Array

  /** @param bodyDigest SHA-256 of the body's bytes */
  constructor(sealer: AnswerSealer, scope: KeyScope, bodyDigest: Uint8Array) {
    this.sealer = sealer
    this.keyHash = sealer.keyHash(scope)
    this.bodyDigest = bodyDigest
    this.bodyTag = computeTag(this.keyHash, bodyDigest)
  }

  /** Stands for the body in the database, beside the whole hash of the key. */
  get bodyHash(): Buffer {
    return this.sealer.bodyHash(this.keyHash, this.bodyDigest)
  }

  /** Names the key where its whole hash is not stored. */
  get shortKey(): Uint8Array {
    return this.keyHash.subarray(0, SHORT_KEY_BYTES)
  }
}

function computeTag(keyHash: Uint8Array, bodyDigest: Uint8Array): Uint8Array {
  const tag = Buffer.allocUnsafe(TAG_BYTES)
  for (let at = 0; at < TAG_BYTES; at++) {
    tag[at] = (bodyDigest[at] ?? 0) ^ (keyHash[SHORT_KEY_BYTES + at] ?? 0)
  }
  return tag
}

/** The hashes of a key by the secrets of the service. */
export interface AskedHashes {
  readonly own: AskedHash
  /** Null with one secret. */
  readonly other: AskedHash | null
  /** In the order in which all replicas claim them: of two requests one gets both. */
  readonly all: readonly AskedHash[]
}

interface Sealers {
  readonly own: AnswerSealer
  /** Null with one secret. */
  readonly other: AnswerSealer | null
}

/** @param bodyDigest SHA-256 of the body's bytes */
export function makeHashes(sealers: Sealers, scope: KeyScope, bodyDigest: Uint8Array): AskedHashes {
  const own = new AskedHash(sealers.own, scope, bodyDigest)
  if (sealers.other === null) return { own, other: null, all: [own] }
  const other = new AskedHash(sealers.other, scope, bodyDigest)
  const byHash = (one: AskedHash, two: AskedHash) => Buffer.compare(one.keyHash, two.keyHash)
  return { own, other, all: [own, other].sort(byHash) }
}
