import type { FactsState, TreeLeaf } from './facts-chain.ts'
import {
  consistencyRanges,
  emptyRoot,
  inclusionRanges,
  type LeafRange,
  leafHash,
  nodeHash,
  rootOf,
  STORED_LEVELS,
  type TreeEdge,
} from './merkle.ts'

export interface TreeHead {
  /** Null for a team without a drained block. */
  readonly treeId: number | null
  readonly edge: TreeEdge
  /** Null for a tree that has not grown since the service binds these facts. */
  readonly facts: FactsState | null
}

/** Where a stored node is. */
export interface StrayNode {
  readonly level: number
  readonly position: number
}

/** Reads the trees of teams. */
export interface TreeStore {
  head(teamId: string): Promise<TreeHead>
  /** Stored nodes of a level; those that are missing are left out. */
  nodes(
    treeId: number,
    level: number,
    first: number,
    count: number,
  ): Promise<ReadonlyMap<number, Buffer>>
  /** The leaves from this one on, in their order. */
  leaves(treeId: number, first: number, count: number): Promise<readonly TreeLeaf[]>
  /** Rows that the drain would not have written for this tree, at most `limit`. */
  strays(treeId: number, limit: number): Promise<readonly StrayNode[]>
}

const TILE_NODES = 2 ** STORED_LEVELS

/** Makes the proofs of one team's tree; it reads 256 nodes at a time, and each only once. */
export class LogTree {
  private readonly store: TreeStore
  private readonly treeId: number
  private readonly tiles = new Map<string, Promise<ReadonlyMap<number, Buffer>>>()

  constructor(store: TreeStore, treeId: number) {
    this.store = store
    this.treeId = treeId
  }

  /** Proves that the tree of the first `size` leaves holds the leaf. */
  inclusion(sequence: number, size: number): Promise<Buffer[]> {
    return this.hashesOf(inclusionRanges(sequence, [0, size]))
  }

  /** Proves that the tree of `to` leaves began as the tree of `from` leaves, which is not empty. */
  consistency(from: number, to: number): Promise<Buffer[]> {
    return this.hashesOf(consistencyRanges(from, to))
  }

  private async hashesOf(ranges: readonly LeafRange[]): Promise<Buffer[]> {
    const hashes: Buffer[] = []
    for (const range of ranges) hashes.push(await this.hashOf(range))
    return hashes
  }

  private async hashOf([start, end]: LeafRange): Promise<Buffer> {
    const leaves = end - start
    if (leaves === 0) return emptyRoot()
    const level = Math.floor(Math.log2(leaves))
    const complete = 2 ** level
    if (complete === leaves) return this.complete(level, start / complete)
    const middle = start + complete
    return nodeHash(await this.hashOf([start, middle]), await this.hashOf([middle, end]))
  }

  /** Root of a complete part, over the nearest stored level below it. */
  private async complete(level: number, position: number): Promise<Buffer> {
    const stored = level - (level % STORED_LEVELS)
    const count = 2 ** (level - stored)
    const first = position * count
    const tile = await this.tile(stored, Math.floor(first / TILE_NODES))
    const hashes = Array.from({ length: count }, (_, index) => {
      const hash = tile.get(first + index)
      if (hash === undefined) throw new Error('a node of the tree of the score log is missing')
      return stored === 0 ? leafHash(hash) : hash
    })
    return rootOf(hashes)
  }

  private tile(level: number, index: number): Promise<ReadonlyMap<number, Buffer>> {
    const name = `${level} ${index}`
    const known = this.tiles.get(name)
    if (known !== undefined) return known
    const tile = this.store.nodes(this.treeId, level, index * TILE_NODES, TILE_NODES)
    this.tiles.set(name, tile)
    return tile
  }
}
