import { SPAN_MS } from '../rollups/spans.ts'
import type { OpenBlock } from '../score-log/blocks/block.ts'
import { openBlock } from '../score-log/blocks/block-decoder.ts'
import type { BlockReader } from '../score-log/blocks/block-store.ts'
import type { StoredBlock } from '../score-log/blocks/stored-block.ts'
import { type BlockSource, readSources } from '../score-log/proof/block-sources.ts'
import type { TreeState } from '../score-log/proof/checkpoint.ts'
import { treeOver } from '../score-log/proof/leaves.ts'
import type { TreeLeaf, TreeStore } from '../score-log/proof/log-tree.ts'
import { emptyRoot, leafHash, TreeEdge } from '../score-log/proof/merkle.ts'
import type { ModelSource } from '../score-log/record/model-source.ts'
import { leavesIn } from './block-proof.ts'

/** Something that is not as it was when it was logged. */
export interface VerifyFinding {
  readonly what:
    | 'block_unreadable'
    | 'block_changed'
    | 'block_missing'
    | 'block_twice'
    | 'tree_changed'
    | 'checkpoint_differs'
  /** Number of the drained block in the tree; null for the tree as a whole. */
  readonly sequence: number | null
  /** A sentence that names the row of the database. */
  readonly message: string
}

export interface VerifyReport {
  readonly blocks: number
  readonly applicants: number
  /** Blocks of the tree whose records have left with their retention. */
  readonly expiredBlocks: number
  readonly root: Buffer
  readonly findings: readonly VerifyFinding[]
}

interface VerifyOptions {
  readonly blocks: BlockReader
  readonly models: ModelSource
  readonly trees: TreeStore
  readonly teamId: string
  /** Blocks from before may have left. */
  readonly keptFromMs: number
  /** A state of the tree that was kept elsewhere. */
  readonly checkpoint: TreeState | null
}

/**
 * Blocks leave in the order of the tree, but for blocks that were drained this late. The time of a
 * leaf is in no hash: without this bound a changed time would let a deleted block pass as expired.
 */
const LATE_MS = SPAN_MS.day
/** Leaves of one statement. */
const PORTION_LEAVES = 1_000
/** More would say the same again. */
const FINDINGS_MAX = 1_000

/**
 * Recomputes the tree of a team from its records, and names everything that differs from the stored
 * tree, and from a checkpoint.
 */
export async function verifyLog(options: VerifyOptions): Promise<VerifyReport> {
  const findings: VerifyFinding[] = []
  const note = (finding: VerifyFinding) => {
    if (findings.length < FINDINGS_MAX) findings.push(finding)
  }
  const { trees, teamId, keptFromMs, checkpoint } = options
  // First: what a running service drains meanwhile is not part of this tree.
  const { treeId, edge } = await trees.head(teamId)
  const found = await rootsOfRecords(options, note)
  const { edge: after } = await trees.head(teamId)
  const again = new TreeEdge()
  let checkpointRoot = checkpoint?.size === 0 ? emptyRoot() : null
  let applicants = 0
  let expiredBlocks = 0
  let newestKeptMs = Number.NEGATIVE_INFINITY
  for await (const leaf of leavesOfTree(trees, treeId, edge.size)) {
    if (leaf.sequence !== again.size) {
      note(treeChanged(`the root of block ${again.size} is not in log_tree_nodes`))
      break
    }
    const own = found.get(leaf.sequence)
    found.delete(leaf.sequence)
    if (own !== undefined) {
      newestKeptMs = Math.max(newestKeptMs, own.lastAtMs)
      applicants += own.size
      if (own.isReadable && !own.root.equals(leaf.root)) note(changed(leaf, own))
    } else if (leaf.firstAtMs < keptFromMs && newestKeptMs < keptFromMs + LATE_MS) expiredBlocks++
    else note(missing(leaf))
    again.add(leafHash(leaf.root))
    if (again.size === checkpoint?.size) checkpointRoot = again.root
  }
  for (const [sequence, own] of found) {
    if (sequence >= edge.size && sequence < after.size) continue
    note({
      what: 'block_changed',
      sequence,
      message: `${own.where} names block ${sequence}, which the tree does not have`,
    })
  }
  if (again.size !== edge.size || !again.root.equals(edge.root)) {
    note(treeChanged('the roots in log_tree_nodes do not give the tree in log_trees'))
  }
  if (checkpoint !== null && !(checkpointRoot?.equals(checkpoint.root) ?? false)) {
    const message = `the checkpoint of ${checkpoint.size} blocks is of another log: a block before its end was changed, or lost`
    note({ what: 'checkpoint_differs', sequence: null, message })
  }
  return { blocks: again.size, applicants, expiredBlocks, root: again.root, findings }
}

/** What the records of a drained block give now. */
interface FoundRoot {
  readonly root: Buffer
  readonly size: number
  readonly isReadable: boolean
  /** When its newest record was scored. */
  readonly lastAtMs: number
  /** The row of the database. */
  readonly where: string
  /** The first and the last request. */
  readonly requests: readonly [string, string]
}

async function rootsOfRecords(
  { blocks, models, teamId }: VerifyOptions,
  note: (finding: VerifyFinding) => void,
): Promise<Map<number, FoundRoot>> {
  const roots = new Map<number, FoundRoot>()
  const add = (sequence: number, root: FoundRoot) => {
    const other = roots.get(sequence)
    if (other === undefined) roots.set(sequence, root)
    else {
      const message = `${root.where} and ${other.where} both hold block ${sequence}`
      note({ what: 'block_twice', sequence, message })
    }
  }
  const range = { fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY }
  for await (const stored of blocks.blocksIn({ ...range, order: 'oldest' })) {
    const where = `block_id ${stored.blockId} of score_blocks, first_at ${new Date(stored.firstAtMs).toISOString()},`
    for (const { sequence, ...root } of await rootsIn(stored, teamId, models, (cause, own) => {
      for (const { sequence } of own) {
        note({ what: 'block_unreadable', sequence, message: `${where} can't be read: ${cause}` })
      }
    })) {
      add(sequence, { ...root, where })
    }
  }
  return roots
}

/** The roots of a team's drained blocks in a stored block. */
async function rootsIn(
  stored: StoredBlock,
  teamId: string,
  models: ModelSource,
  onUnreadable: (cause: string, sources: readonly BlockSource[]) => void,
): Promise<(Omit<FoundRoot, 'where'> & { readonly sequence: number })[]> {
  const listed = readSources(stored.sources, () => teamId).sources
  const own = listed.filter((source) => source.teamId === teamId)
  if (own.length === 0) return []
  try {
    const block = openBlock(stored)
    const known = await models.compiled(block.modelIds)
    const bySource = recordsBySource(stored, block)
    const roots = []
    for (const { sequence } of own) {
      const requests = await leavesIn(block, bySource.get(`${teamId} ${sequence}`) ?? [], known)
      const ids = requests.map(({ requestId }) => requestId).sort()
      const ends: [string, string] = [ids[0] ?? '', ids.at(-1) ?? '']
      const { root, size } = treeOver(requests)
      const lastAtMs = requests.reduce(
        (last, { scoredAtMs }) => Math.max(last, scoredAtMs),
        Number.NEGATIVE_INFINITY,
      )
      roots.push({ sequence, root, size, isReadable: true, lastAtMs, requests: ends })
    }
    return roots
  } catch (error) {
    onUnreadable(error instanceof Error ? error.message : String(error), own)
    const lastAtMs = Number.NEGATIVE_INFINITY
    const unreadable = { root: emptyRoot(), size: 0, isReadable: false, lastAtMs }
    return own.map(({ sequence }) => ({ sequence, ...unreadable, requests: ['', ''] as const }))
  }
}

function recordsBySource(stored: StoredBlock, block: OpenBlock): Map<string, number[]> {
  const { sources, sourceOf } = readSources(stored.sources, (record) => block.teamId(record))
  const records = new Map<string, number[]>()
  for (let record = 0; record < block.count; record++) {
    const source = sources[sourceOf(record)]
    if (source === undefined) continue
    const name = `${source.teamId} ${source.sequence}`
    const list = records.get(name)
    if (list === undefined) records.set(name, [record])
    else list.push(record)
  }
  return records
}

/** The leaves of the tree of the first `size` blocks. */
async function* leavesOfTree(
  trees: TreeStore,
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

function changed({ sequence, applicants }: TreeLeaf, own: FoundRoot): VerifyFinding {
  const [first, last] = own.requests
  const message =
    `${own.where} was changed: block ${sequence} was logged with ${applicants} applicants and ` +
    `another root; it now has ${own.size}, in requests ${first} to ${last}`
  return { what: 'block_changed', sequence, message }
}

function missing({ sequence, applicants, firstAtMs }: TreeLeaf): VerifyFinding {
  const at = new Date(firstAtMs).toISOString()
  const message = `block ${sequence} with ${applicants} applicants, logged from ${at} on, is not in score_blocks`
  return { what: 'block_missing', sequence, message }
}

function treeChanged(message: string): VerifyFinding {
  return { what: 'tree_changed', sequence: null, message }
}
