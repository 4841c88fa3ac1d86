import {
  createHash,
  createPrivateKey,
  createPublicKey,
  hkdfSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'

/** A state of a tree. */
export interface TreeState {
  readonly origin: string
  readonly size: number
  readonly root: Buffer
}

const SEED_BYTES = 32
const KEY_BYTES = 32
const KEY_ID_BYTES = 4
/** What Node expects before the 32 bytes of a private key of Ed25519 in PKCS #8. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')
/** The kind of the key in signed notes. */
const ED25519 = Buffer.of(1)

/** The log of a team, as checkpoints name it. */
export function originOf(teamId: string): string {
  return `scoreline/${teamId}`
}

/** The chain over the facts of a team's blocks, see `FactsChain`: signed as a tree is. */
export function factsOriginOf(teamId: string): string {
  return `${originOf(teamId)}/facts`
}

/**
 * Signs states of trees with Ed25519, as signed notes.
 *
 * The key follows from the secret that signs access tokens, so that all replicas have the same one
 * and it is in no database. With another secret it is another key.
 *
 * @source https://c2sp.org/signed-note, https://c2sp.org/tlog-checkpoint
 */
export class CheckpointSigner {
  private readonly key: KeyObject
  private readonly publicKey: Buffer

  constructor(secret: string | Buffer) {
    const info = 'scoreline score log checkpoints'
    const seed = Buffer.from(hkdfSync('sha256', secret, '', info, SEED_BYTES))
    const der = Buffer.concat([PKCS8_PREFIX, seed])
    this.key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
    const spki = createPublicKey(this.key).export({ format: 'der', type: 'spki' })
    this.publicKey = spki.subarray(-KEY_BYTES)
  }

  /** The key that verifies the checkpoints of an origin, as signed notes write it. */
  verifierKey(origin: string): string {
    const key = Buffer.concat([ED25519, this.publicKey])
    return `${origin}+${this.keyId(origin).toString('hex')}+${key.toString('base64')}`
  }

  checkpoint({ origin, size, root }: TreeState): string {
    const text = `${origin}\n${size}\n${root.toString('base64')}\n`
    const signature = sign(null, Buffer.from(text), this.key)
    const signed = Buffer.concat([this.keyId(origin), signature]).toString('base64')
    return `${text}\n— ${origin} ${signed}\n`
  }

  /** The state of a checkpoint that this signer has signed; null for anything else. */
  read(note: string): TreeState | null {
    const [, text = '', origin = '', size = '', root = '', name, signed = ''] =
      /^(([^\n]+)\n(\d{1,15})\n([A-Za-z0-9+/=]+)\n)\n— (\S+) ([A-Za-z0-9+/=]+)\n?$/.exec(note) ?? []
    if (name !== origin) return null
    const bytes = Buffer.from(signed, 'base64')
    if (!bytes.subarray(0, KEY_ID_BYTES).equals(this.keyId(origin))) return null
    const signature = bytes.subarray(KEY_ID_BYTES)
    if (!verify(null, Buffer.from(text), createPublicKey(this.key), signature)) return null
    return { origin, size: Number(size), root: Buffer.from(root, 'base64') }
  }

  private keyId(name: string): Buffer {
    const hash = createHash('sha256').update(`${name}\n`).update(ED25519).update(this.publicKey)
    return hash.digest().subarray(0, KEY_ID_BYTES)
  }
}
