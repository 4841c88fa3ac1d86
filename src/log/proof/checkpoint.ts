import { SigningKey } from './signing-key.ts'

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
