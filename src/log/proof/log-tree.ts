import { AppError } from '../../errors.ts'
import {
  computeRoot,
  consistencyRanges,
  emptyRoot,
  inclusionRanges,
  type LeafRange,
  leafHash,
  nodeHash,
  rootFromPath,
  rootsFromPath,
  STORED_LEVELS,
  type TreeEdge,
} from './merkle.ts'
import type { Trees } from './tree-store.ts'

/**
 * The tree of a team says something else than its root or the records do. `scoreline log verify`
 * says where. Only proofs and checkpoints of the team need it.
 */
export class DamagedTree extends AppError {
  constructor(teamId: string) {
    const where = `the tree of proofs of ${teamId} (log_trees, log_tree_nodes)`
    const message = `${where} is damaged, or its records are: nothing can be proved with it`
    super('unavailable', message, { isLasting: true })
  }
}

/**
 * The trees of these teams can't grow: what their rows say is not what was written. Other teams are
 * not concerned.
 */
export class UngrownTrees extends AppError {
  readonly teamIds: ReadonlySet<string>

  constructor(teamIds: ReadonlySet<string>) {
    super('unavailable', treeFault([...teamIds].join(', ')), { isLasting: true })
    this.teamIds = teamIds
  }
}

/** Why the records of a team can't be stored. */
export function treeFault(teamId: string): string {
  return `the tree of proofs of ${teamId} (log_trees, log_tree_nodes) is damaged`
}

/** The state of a tree with a leaf. */
interface GrownTree {
  readonly treeId: number
  readonly edge: Pick<TreeEdge, 'size' | 'root'>
}

const TILE_NODES = 2 ** STORED_LEVELS

/** Makes the proofs of one team's tree; it reads 256 nodes at a time, and each only once. */
export class LogTree {
  private readonly store: Trees
  private readonly teamId: string
  private readonly treeId: number
  private readonly edge: GrownTree['edge']
  private readonly tiles = new Map<string, Promise<ReadonlyMap<number, Buffer>>>()

  constructor(store: Trees, teamId: string, { treeId, edge }: GrownTree) {
    this.store = store
    this.teamId = teamId
    this.treeId = treeId
    this.edge = edge
  }

  /**
   * Makes sure that the stored nodes lead to the root that the drain goes on from.
   *
   * @throws DamagedTree
   */
  async check(): Promise<void> {
    this.require(await this.root(this.edge.size), this.edge.root)
  }

  /**
   * Proves that the tree holds the leaf.
   *
   * @param root of the records of the drained block
   * @throws DamagedTree
   */
  async inclusion(sequence: number, root: Buffer): Promise<Buffer[]> {
    const { size } = this.edge
    const path = await this.computeHashes(inclusionRanges(sequence, [0, size]))
    this.require(rootFromPath(leafHash(root), { index: sequence, size }, path), this.edge.root)
    return path
  }

  /**
   * Proves that the tree of `to` leaves began as the tree of `from` leaves, which is not empty.
   *
   * @throws DamagedTree
   */
  async consistency(from: number, to: number): Promise<Buffer[]> {
    const { size, root } = this.edge
    const later = await this.root(to)
    await this.consistent({ from: to, to: size }, later, root)
    return this.consistent({ from, to }, await this.root(from), later)
  }

  private async consistent(
    { from, to }: { readonly from: number; readonly to: number },
    earlier: Buffer,
    later: Buffer,
  ): Promise<Buffer[]> {
    const path = await this.computeHashes(consistencyRanges(from, to))
    const roots = rootsFromPath({ from, to }, earlier, path)
    this.require(roots.earlier, earlier)
    this.require(roots.later, later)
    return path
  }

  private root(size: number): Promise<Buffer> {
    return this.computeHash([0, size])
  }

  private require(found: Buffer, expected: Buffer): void {
    if (!found.equals(expected)) throw new DamagedTree(this.teamId)
  }

  private async computeHashes(ranges: readonly LeafRange[]): Promise<Buffer[]> {
    const hashes: Buffer[] = []
    for (const range of ranges) hashes.push(await this.computeHash(range))
    return hashes
  }

  private async computeHash([start, end]: LeafRange): Promise<Buffer> {
    const leaves = end - start
    if (leaves === 0) return emptyRoot()
    const level = Math.floor(Math.log2(leaves))
    const complete = 2 ** level
    if (complete === leaves) return this.complete(level, start / complete)
    const middle = start + complete
    return nodeHash(await this.computeHash([start, middle]), await this.computeHash([middle, end]))
  }

  /** Root of a complete part, over the nearest stored level below it. */
  private async complete(level: number, position: number): Promise<Buffer> {
    const stored = level - (level % STORED_LEVELS)
    const count = 2 ** (level - stored)
    const first = position * count
    const tile = await this.tile(stored, Math.floor(first / TILE_NODES))
    const hashes = Array.from({ length: count }, (_, index) => {
      const hash = tile.get(first + index)
      if (hash === undefined) throw new DamagedTree(this.teamId)
      return stored === 0 ? leafHash(hash) : hash
    })
    return computeRoot(hashes)
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
