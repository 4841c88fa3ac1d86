/**
 * Writes proofs and checkpoints of this service as JSON lines, for `main.go`:
 *
 *   node test/peers/merkle/proofs.ts [LEAVES] [SEED] > PROOFS
 *
 * They are all proofs of all trees of 1 to 64 leaves, made both as for a block and as for the tree
 * of a team, and proofs of trees of random size up to LEAVES, a million by default.
 */
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { CheckpointSigner, formatOrigin } from '../../../src/log/proof/checkpoint.ts'
import { LogTree } from '../../../src/log/proof/log-tree.ts'
import {
  computeRoot,
  consistencyRanges,
  inclusionRanges,
  type LeafRange,
  leafHash,
  TreeEdge,
} from '../../../src/log/proof/merkle.ts'
import type { TreeStore } from '../../../src/log/proof/tree-store.ts'

const [leavesMax = '1000000', seed = '1'] = process.argv.slice(2)
const LEAVES_MAX = Number(leavesMax)
const SMALL_MAX = 64
/** Trees of random size. */
const SAMPLES = 1_000

const write = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`)
const formatHex = (hashes: readonly Buffer[]) => hashes.map((hash) => hash.toString('hex'))
/** The data of a leaf: in the tree of a team it is the root of a block. */
const readData = (index: number) => createHash('sha256').update(`block ${index}`).digest()

/** A tree as the drain grows it, whose stored nodes are in memory. */
class GrownTree implements Pick<TreeStore, 'nodes'> {
  private readonly edge = new TreeEdge()
  private readonly upper = new Map<string, Buffer>()
  /** By size. */
  readonly roots = new Map<number, Buffer>()

  constructor(sizes: ReadonlySet<number>) {
    const size = Math.max(...sizes)
    for (let index = 0; index < size; index++) {
      for (const { level, position, hash } of this.edge.add(leafHash(readData(index)))) {
        this.upper.set(`${level} ${position}`, hash)
      }
      if (sizes.has(index + 1)) this.roots.set(index + 1, this.edge.root)
    }
  }

  async nodes(_treeId: number, level: number, first: number, count: number) {
    const found = new Map<number, Buffer>()
    for (let at = first; at < first + count; at++) {
      const hash = level === 0 ? readData(at) : this.upper.get(`${level} ${at}`)
      if (hash !== undefined) found.set(at, hash)
    }
    return found
  }

  private tree(size: number): LogTree {
    const root = this.roots.get(size) ?? this.edge.root
    return new LogTree(this as never, 'team_1', { treeId: 1, edge: { size, root } })
  }

  computeRoot(size: number): string {
    return this.roots.get(size)?.toString('hex') ?? ''
  }

  async inclusion(index: number, size: number): Promise<void> {
    const path = await this.tree(size).inclusion(index, readData(index))
    writeInclusion({ index, size, path, root: this.computeRoot(size) })
  }

  async consistency(from: number, to: number): Promise<void> {
    const path = await this.tree(to).consistency(from, to)
    writeConsistency({ from, to, path, roots: [this.computeRoot(from), this.computeRoot(to)] })
  }
}

interface Inclusion {
  readonly index: number
  readonly size: number
  readonly path: readonly Buffer[]
  readonly root: string
}

function writeInclusion({ index, size, path, root }: Inclusion): void {
  const leaf = readData(index).toString('hex')
  write({ kind: 'inclusion', index, size, leaf, path: formatHex(path), root })
}

interface Consistency {
  readonly from: number
  readonly to: number
  readonly path: readonly Buffer[]
  readonly roots: readonly [string, string]
}

function writeConsistency({ from, to, path, roots: [from_root, to_root] }: Consistency): void {
  write({ kind: 'consistency', from, to, path: formatHex(path), from_root, to_root })
}

/** The proofs of a whole tree, as those of a block are made. */
function writeBlock(size: number): void {
  const leaves = Array.from({ length: size }, (_, index) => leafHash(readData(index)))
  const formatPath = (ranges: readonly LeafRange[]) =>
    ranges.map((range) => computeRoot(leaves, range))
  const rootAt = (at: number) => computeRoot(leaves, [0, at]).toString('hex')
  for (let index = 0; index < size; index++) {
    const path = formatPath(inclusionRanges(index, [0, size]))
    writeInclusion({ index, size, path, root: rootAt(size) })
  }
  for (let from = 1; from <= size; from++) {
    const path = formatPath(consistencyRanges(from, size))
    writeConsistency({ from, to: size, path, roots: [rootAt(from), rootAt(size)] })
  }
}

const powers = fc
  .tuple(
    fc.integer({ min: 6, max: Math.floor(Math.log2(LEAVES_MAX)) }),
    fc.integer({ min: -1, max: 1 }),
  )
  .map(([power, beside]) => Math.min(LEAVES_MAX, 2 ** power + beside))
const sizes = fc.oneof(fc.integer({ min: SMALL_MAX + 1, max: LEAVES_MAX }), powers)
const samples = fc.sample(fc.tuple(sizes, sizes, fc.double({ min: 0, max: 1, noNaN: true })), {
  numRuns: SAMPLES,
  seed: Number(seed),
})
const small = Array.from({ length: SMALL_MAX }, (_, index) => index + 1)
const sampled = [...samples.map(([one]) => one), ...samples.map(([, other]) => other)]
const tree = new GrownTree(new Set([...small, ...sampled]))

for (const size of small) {
  writeBlock(size)
  for (let index = 0; index < size; index++) await tree.inclusion(index, size)
  for (let from = 1; from <= size; from++) await tree.consistency(from, size)
}
for (const [one, other, share] of samples) {
  await tree.inclusion(Math.min(one - 1, Math.floor(share * one)), one)
  await tree.consistency(Math.min(one, other), Math.max(one, other))
}

const signer = new CheckpointSigner('a secret of the proofs, long enough', null)
const origin = formatOrigin('team_1')
for (const size of small) {
  const root = tree.roots.get(size) ?? Buffer.of()
  const note = signer.checkpoint({ origin, size, root })
  const key = signer.verifierKey(origin)
  write({ kind: 'checkpoint', key, note, origin, size, root: root.toString('base64') })
}
