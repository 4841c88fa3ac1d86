import {
  createHash,
  createPrivateKey,
  createPublicKey,
  hkdfSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'

export interface TreeState {
  readonly origin: string
  readonly size: number
  readonly root: Buffer
}

/** A note: its text, and lines of signatures. */
const NOTE = /^(([^\n]+)\n(\d{1,15})\n([A-Za-z0-9+/=]+)\n)\n((?:— \S+ [A-Za-z0-9+/=]+\n?){1,8})$/
const SIGNATURE = /^— (\S+) ([A-Za-z0-9+/=]+)$/

/** The log of a team, as checkpoints name it. */
export function formatOrigin(teamId: string): string {
  return `scoreline/${teamId}`
}

/** The chain over the facts of a team's blocks, see `FactsChain`: signed as a tree is. */
export function formatFactsOrigin(teamId: string): string {
  return `${formatOrigin(teamId)}/facts`
}

/**
 * Signs states of trees with Ed25519, as signed notes.
 *
 * The key follows from the secret that signs access tokens, so that all replicas have the same one
 * and it is in no database. With another secret it is another key. While the secret is rotated,
 * both keys sign, so that whoever trusts the former one can follow.
 *
 * @source https://c2sp.org/signed-note, https://c2sp.org/tlog-checkpoint
 */
export class CheckpointSigner {
  private readonly current: SigningKey
  private readonly keys: readonly SigningKey[]

  /** @param formerSecret while it is rotated; else null */
  constructor(secret: string | Buffer, formerSecret: string | null) {
    this.current = new SigningKey(secret)
    this.keys =
      formerSecret === null ? [this.current] : [this.current, new SigningKey(formerSecret)]
  }

  /** The key that verifies the checkpoints of an origin, as signed notes write it. */
  verifierKey(origin: string): string {
    return this.current.verifierKey(origin)
  }

  checkpoint({ origin, size, root }: TreeState): string {
    const text = `${origin}\n${size}\n${root.toString('base64')}\n`
    const signatures = this.keys.map((key) => `— ${origin} ${key.sign(origin, text)}\n`)
    return `${text}\n${signatures.join('')}`
  }

  /** The state of a checkpoint that one of the keys has signed; null for anything else. */
  read(note: string): TreeState | null {
    const [, text = '', origin = '', size = '', root = '', lines = ''] = NOTE.exec(note) ?? []
    const isOurs = lines.split('\n').some((line) => {
      const [, name, signed = ''] = SIGNATURE.exec(line) ?? []
      return name === origin && this.keys.some((key) => key.hasSigned(origin, text, signed))
    })
    return isOurs ? { origin, size: Number(size), root: Buffer.from(root, 'base64') } : null
  }
}

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
class SigningKey {
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
