import {
  createHash,
  createPrivateKey,
  createPublicKey,
  hkdfSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'

const SEED_BYTES = 32
const KEY_BYTES = 32
const KEY_ID_BYTES = 4
/** The bytes that Node expects before the 32 bytes of a private key of Ed25519 in PKCS #8. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')
/** The kind of the key in signed notes. */
const ED25519 = Buffer.of(1)

/**
 * A key of Ed25519 that signs notes; it follows from a secret.
 *
 * @source https://c2sp.org/signed-note
 */
export class SigningKey {
  private readonly key: KeyObject
  private readonly publicKey: KeyObject
  private readonly publicBytes: Buffer

  constructor(secret: string | Buffer) {
    const info = 'scoreline score log checkpoints'
    const seed = Buffer.from(hkdfSync('sha256', secret, '', info, SEED_BYTES))
    const der = Buffer.concat([PKCS8_PREFIX, seed])
    this.key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
    this.publicKey = createPublicKey(this.key)
    const spki = this.publicKey.export({ format: 'der', type: 'spki' })
    this.publicBytes = spki.subarray(-KEY_BYTES)
  }

  /** The key that verifies the notes of a name, as signed notes write it. */
  verifierKey(name: string): string {
    const key = Buffer.concat([ED25519, this.publicBytes])
    return `${name}+${this.keyId(name).toString('hex')}+${key.toString('base64')}`
  }

  /** The signature of a text as base64, behind the id of the key. */
  sign(name: string, text: string): string {
    const signature = sign(null, Buffer.from(text), this.key)
    return Buffer.concat([this.keyId(name), signature]).toString('base64')
  }

  /** Tells whether `sign` has made a signature. */
  hasSigned(name: string, text: string, signed: string): boolean {
    const bytes = Buffer.from(signed, 'base64')
    // The last character has bits that no byte has.
    if (bytes.toString('base64') !== signed) return false
    if (!bytes.subarray(0, KEY_ID_BYTES).equals(this.keyId(name))) return false
    return verify(null, Buffer.from(text), this.publicKey, bytes.subarray(KEY_ID_BYTES))
  }

  private keyId(name: string): Buffer {
    const hash = createHash('sha256').update(`${name}\n`).update(ED25519).update(this.publicBytes)
    return hash.digest().subarray(0, KEY_ID_BYTES)
  }
}
