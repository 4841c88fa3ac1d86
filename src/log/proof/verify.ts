import type { BlockIndexReader } from '../blocks/block-index.ts'
import type { BlockReader } from '../blocks/block-store.ts'
import type { ModelSource } from '../record/model-source.ts'
import { SPAN_MS, spanStart } from '../rollups/spans.ts'
import type { TreeState } from './checkpoint.ts'
import { FactsChain, type TreeLeaf } from './facts-chain.ts'
import { Findings, type FoundRoot, type VerifyFinding } from './findings.ts'
import { emptyRoot, leafHash, TreeEdge, type TreeNode } from './merkle.ts'
import { readStoredRecords } from './stored-records.ts'
import type { TreeHead, Trees } from './tree-store.ts'

export interface VerifyReport {
  readonly blocks: number
  readonly applicants: number
  /** Blocks of the tree whose records have left with their retention. */
  readonly expiredBlocks: number
  readonly root: Buffer
  readonly findings: readonly VerifyFinding[]
}

interface VerifyOptions {
  readonly blocks: Pick<BlockReader, 'blocksIn'>
  readonly index: Pick<BlockIndexReader, 'findIndex'>
  readonly models: ModelSource
  readonly trees: Trees
  readonly teamId: string
  /** Blocks from before may have left. */
  readonly keptFromMs: number
  /** A state of the tree that was kept elsewhere. */
  readonly checkpoint: TreeState | null
  /** A state of the chain of facts that was kept elsewhere. */
  readonly facts: TreeState | null
}

/** Blocks leave in the order of the tree, but for blocks that were drained this late. */
const LATE_MS = SPAN_MS.day
/** Leaves of one statement. */
const PORTION_LEAVES = 1_000
/** More blocks than findings name; a service drains fewer while its log is read. */
const BEYOND_MAX = 100_000
/** More would say the same again. */
const STRAYS_MAX = 100

/**
 * Recomputes the tree of a team from its records, and names everything that differs from the stored
 * tree, and from a checkpoint. Memory is that of one row and one bit for each drained block.
 */
export async function verifyLog(options: VerifyOptions): Promise<VerifyReport> {
  const findings = new Findings()
  const { trees, teamId, keptFromMs, checkpoint } = options
  // First: what a running service drains meanwhile is not part of this tree.
  const head = await trees.head(teamId)
  const { treeId, edge } = head
  const { seen, beyond, applicants } = await compareRecords({ ...options, head }, findings)
  const { edge: after } = await trees.head(teamId)
  const again = new TreeEdge()
  const nodes = new ComparedNodes(trees, treeId ?? 0, findings)
  const chain = new ComparedChain(teamId, head, options.facts)
  let checkpointRoot = checkpoint?.size === 0 ? emptyRoot() : null
  let expiredBlocks = 0
  let newestKeptMs = Number.NEGATIVE_INFINITY
  for await (const leaf of leavesOfTree(trees, treeId, edge.size)) {
    if (leaf.sequence !== again.size) {
      findings.treeChanged(`the root of block ${again.size} is not in log_tree_nodes`)
      break
    }
    if (seen.has(leaf.sequence)) newestKeptMs = Math.max(newestKeptMs, leaf.firstAtMs)
    else if (leaf.firstAtMs < keptFromMs && newestKeptMs < keptFromMs + LATE_MS) expiredBlocks++
    else findings.missing(leaf)
    await nodes.add(again.add(leafHash(leaf.root)))
    chain.add(leaf)
    if (again.size === checkpoint?.size) checkpointRoot = again.root
  }
  await nodes.end()
  const strays = treeId === null ? [] : await trees.strays(treeId, STRAYS_MAX)
  for (const stray of strays) findings.stray(treeId ?? 0, stray)
  for (const [sequence, where] of beyond) {
    if (sequence < after.size) continue
    const message = `${where} names block ${sequence}, which the tree does not have`
    findings.add('block_changed', sequence, message)
  }
  if (!head.isSound) findings.treeChanged('the sum in log_trees is of another tree')
  if (again.size !== edge.size || !again.bytes.equals(edge.bytes)) {
    findings.treeChanged('the roots in log_tree_nodes do not give the tree in log_trees')
  }
  if (checkpoint !== null && !(checkpointRoot?.equals(checkpoint.root) ?? false)) {
    const message = `the checkpoint of ${checkpoint.size} blocks is of another log: a block before its end was changed, or lost`
    findings.add('checkpoint_differs', null, message)
  }
  chain.note(findings)
  return {
    blocks: again.size,
    applicants,
    expiredBlocks,
    root: again.root,
    findings: findings.all,
  }
}

interface ComparedRecords {
  readonly seen: SeenBlocks
  /** Blocks that the tree did not have when it was read, with their rows. */
  readonly beyond: ReadonlyMap<number, string>
  readonly applicants: number
}

/** Compares the records of each row with the leaves that they were logged with. */
async function compareRecords(
  options: VerifyOptions & { readonly head: TreeHead },
  findings: Findings,
): Promise<ComparedRecords> {
  const { treeId, edge } = options.head
  const seen = new SeenBlocks(edge.size)
  const leaves = new LeafReader(options.trees, treeId, edge.size)
  const beyond = new Map<number, string>()
  let applicants = 0
  for await (const roots of readStoredRecords(options, findings)) {
    for (const [sequence, own] of roots) {
      if (sequence >= edge.size) {
        if (beyond.size < BEYOND_MAX) beyond.set(sequence, own.where)
        continue
      }
      if (seen.add(sequence)) {
        findings.twice(sequence, own)
        continue
      }
      applicants += own.size
      const leaf = own.isReadable ? await leaves.at(sequence) : null
      if (leaf === null) continue
      if (!own.root.equals(leaf.root)) findings.changed(leaf, own)
      else if (!isRight(leaf, own)) findings.wrongLeaf(treeId ?? 0, leaf, own)
    }
  }
  return { seen, beyond, applicants }
}

/**
 * Tells whether the row of a leaf fits its records. Its time is that of the whole block, in which
 * another team can have been first; a block is of one hour.
 */
function isRight({ applicants, firstAtMs }: TreeLeaf, own: FoundRoot): boolean {
  const hourMs = spanStart('hour', own.firstAtMs)
  return applicants === own.size && firstAtMs >= hourMs && firstAtMs <= own.firstAtMs
}

/** The chain of facts, computed again, beside the stored one and one that was kept elsewhere. */
class ComparedChain {
  private readonly stored: Buffer | null
  private readonly kept: TreeState | null
  private readonly chain: FactsChain
  private isKept = false

  constructor(teamId: string, { facts }: TreeHead, kept: TreeState | null) {
    this.stored = facts
    this.kept = kept
    this.chain = FactsChain.begin(teamId)
    this.compare()
  }

  add(leaf: TreeLeaf): void {
    this.chain.add(leaf)
    this.compare()
  }

  private compare(): void {
    const { kept, chain } = this
    if (chain.size === kept?.size) this.isKept = chain.hash.equals(kept.root)
  }

  note(findings: Findings): void {
    const { stored, kept, chain } = this
    if (stored !== null && !chain.hash.equals(stored)) {
      const message =
        'applicants and first_at in log_tree_nodes do not give the facts in log_trees: blocks ' +
        'without records may have been deleted before their time'
      findings.treeChanged(message)
    }
    if (kept !== null && (stored === null || !this.isKept)) {
      const message =
        `the facts of ${kept.size} blocks that were kept are others: applicants or first_at of ` +
        'one of these blocks in log_tree_nodes, or facts in log_trees, was changed'
      findings.add('checkpoint_differs', null, message)
    }
  }
}

/** Finds leaves that are asked for about in their order. */
class LeafReader {
  private readonly trees: Trees
  private readonly treeId: number | null
  private readonly size: number
  private portion = new Map<number, TreeLeaf>()
  private first = -1

  constructor(trees: Trees, treeId: number | null, size: number) {
    this.trees = trees
    this.treeId = treeId
    this.size = size
  }

  /** Null where the row of the leaf is missing. */
  async at(sequence: number): Promise<TreeLeaf | null> {
    if (this.treeId === null) return null
    const first = sequence - (sequence % PORTION_LEAVES)
    if (first !== this.first) {
      const count = Math.min(PORTION_LEAVES, this.size - first)
      const rows = await this.trees.leaves(this.treeId, first, count)
      this.portion = new Map(rows.map((leaf) => [leaf.sequence, leaf]))
      this.first = first
    }
    return this.portion.get(sequence) ?? null
  }
}

/** The leaves of the tree of the first `size` blocks. */
async function* leavesOfTree(
  trees: Trees,
  treeId: number | null,
  size: number,
): AsyncGenerator<TreeLeaf> {
  if (treeId === null) return
  let next = 0
  while (next < size) {
    const portion = await trees.leaves(treeId, next, Math.min(PORTION_LEAVES, size - next))
    yield* portion.filter(({ sequence }) => sequence < size)
    const last = portion.at(-1)
    if (last === undefined) return
    next = last.sequence + 1
  }
}

const BITS = 8

/** Which drained blocks of a tree were met: one bit for each, as a log has hundreds of millions. */
class SeenBlocks {
  private readonly bits: Uint8Array

  /** @param size of the tree */
  constructor(size: number) {
    this.bits = new Uint8Array(Math.ceil(size / BITS))
  }

  has(sequence: number): boolean {
    return (((this.bits[Math.floor(sequence / BITS)] ?? 0) >> (sequence % BITS)) & 1) === 1
  }

  /** @returns whether the block was met before */
  add(sequence: number): boolean {
    const wasThere = this.has(sequence)
    const at = Math.floor(sequence / BITS)
    this.bits[at] = (this.bits[at] ?? 0) | (1 << (sequence % BITS))
    return wasThere
  }
}

/** Nodes of one statement. */
const PORTION_NODES = 256

/** The nodes above the leaves, computed again, beside the stored ones. */
class ComparedNodes {
  private readonly trees: Trees
  private readonly treeId: number
  private readonly findings: Findings
  /** For each level the nodes that are still to be compared, in their order. */
  private readonly waiting = new Map<number, TreeNode[]>()

  constructor(trees: Trees, treeId: number, findings: Findings) {
    this.trees = trees
    this.treeId = treeId
    this.findings = findings
  }

  async add(nodes: readonly TreeNode[]): Promise<void> {
    for (const node of nodes) {
      const ofLevel = this.waiting.get(node.level) ?? []
      this.waiting.set(node.level, ofLevel)
      ofLevel.push(node)
      if (ofLevel.length === PORTION_NODES) await this.compare(node.level, ofLevel)
    }
  }

  async end(): Promise<void> {
    for (const [level, nodes] of this.waiting) await this.compare(level, nodes)
  }

  /** The nodes of a level follow one another without a gap. */
  private async compare(level: number, nodes: TreeNode[]): Promise<void> {
    const [first] = nodes
    if (first === undefined) return
    const stored = await this.trees.nodes(this.treeId, level, first.position, nodes.length)
    for (const { position, hash } of nodes) {
      const found = stored.get(position)
      if (found?.equals(hash)) continue
      const fault =
        found === undefined ? 'is missing' : 'was changed: it is not over the leaves below it'
      this.findings.treeChanged(
        `the row of log_tree_nodes with tree_id ${this.treeId}, level ${level}, position ${position} ${fault}`,
      )
    }
    nodes.length = 0
  }
}
