import { hash } from 'node:crypto'

/** A drained block as a leaf of the tree. */
export interface TreeLeaf {
  readonly sequence: number
  readonly root: Buffer
  readonly applicants: number
  /** When the first record of the block, whatever its team, was scored. */
  readonly firstAtMs: number
}

/**
 * Binds what no hash of the tree covers: how many applicants each drained block had, and when it
 * began. Whoever has kept a signed state of the chain sees a change of either.
 *
 * The start is SHA-256 of `{"team_id":…}`. Each leaf makes SHA-256 of the hash before it, followed
 * by `{"applicants":…,"first_at_ms":…,"root":…,"sequence":…}`.
 */
export class FactsChain {
  private leaves: number
  private current: Buffer

  /** @param current the hash over the facts of so many leaves */
  constructor(leaves: number, current: Buffer) {
    this.leaves = leaves
    this.current = current
  }

  static begin(teamId: string): FactsChain {
    return new FactsChain(0, hash('sha256', JSON.stringify({ team_id: teamId }), 'buffer'))
  }

  get size(): number {
    return this.leaves
  }

  get hash(): Buffer {
    return this.current
  }

  /** Adds the next leaf; others leave the chain as it is. */
  add({ sequence, root, applicants, firstAtMs }: TreeLeaf): void {
    if (sequence !== this.leaves) return
    const text = JSON.stringify({
      applicants,
      first_at_ms: Math.round(firstAtMs),
      root: root.toString('hex'),
      sequence,
    })
    this.current = hash('sha256', Buffer.concat([this.current, Buffer.from(text)]), 'buffer')
    this.leaves++
  }
}
