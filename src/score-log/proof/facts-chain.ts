import { hash } from 'node:crypto'

/** A drained block as a leaf of the tree. */
export interface TreeLeaf {
  readonly sequence: number
  readonly root: Buffer
  readonly applicants: number
  /** When the first record of the block, whatever its team, was scored. */
  readonly firstAtMs: number
}

/** What the database stores of a chain. */
export interface FactsState {
  /** Number of leaves whose facts are in the hash. */
  readonly size: number
  readonly hash: Buffer
  /** See `FactsChain`. */
  readonly untracedUntilMs: number | null
}

/**
 * Binds what no hash of the tree covers: how many applicants each drained block had, when it began,
 * and until when the log took records without a place in the tree. Whoever has kept a signed state
 * of the chain sees a change of any of them.
 *
 * The start is SHA-256 of `{"team_id":…,"untraced_until_ms":…}`. Each leaf makes SHA-256 of the
 * hash before it, followed by `{"applicants":…,"first_at_ms":…,"root":…,"sequence":…}`.
 */
export class FactsChain {
  private leaves: number
  private current: Buffer

  constructor({ size, hash: current }: Pick<FactsState, 'size' | 'hash'>) {
    this.leaves = size
    this.current = current
  }

  /**
   * A chain without leaves.
   *
   * @param untracedUntilMs records that were scored before need no place in the tree; null: there
   *   are none, because the log has had a tree from its first block on
   */
  static begin(teamId: string, untracedUntilMs: number | null): FactsChain {
    const text = JSON.stringify({ team_id: teamId, untraced_until_ms: untracedUntilMs })
    return new FactsChain({ size: 0, hash: hash('sha256', text, 'buffer') })
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
