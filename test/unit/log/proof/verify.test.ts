import { createHash } from 'node:crypto'
import { beforeEach, expect, test } from 'vitest'
import { FactsChain, type TreeLeaf } from '../../../../src/log/proof/facts-chain.ts'
import { leafHash, TreeEdge } from '../../../../src/log/proof/merkle.ts'
import type { Trees } from '../../../../src/log/proof/tree-store.ts'
import { verifyLog } from '../../../../src/log/proof/verify.ts'

const TEAM = 'team_1'
/** Two full parts of the stored level above the leaves, and some more. */
const LEAVES = 600

/** A tree whose records have left, as its drain has stored it. */
class StoredTree implements Trees {
  readonly stored = new Map<string, Buffer>()
  private readonly leafRows: TreeLeaf[] = []
  private readonly edge = new TreeEdge()
  private readonly chain = FactsChain.begin(TEAM)
  edgeBytes: Buffer

  constructor() {
    for (let sequence = 0; sequence < LEAVES; sequence++) {
      const root = createHash('sha256').update(`${sequence}`).digest()
      const leaf = { sequence, root, applicants: 1, firstAtMs: sequence }
      this.leafRows.push(leaf)
      this.chain.add(leaf)
      for (const { level, position, hash } of this.edge.add(leafHash(root))) {
        this.stored.set(`${level} ${position}`, hash)
      }
    }
    this.edgeBytes = this.edge.bytes
  }

  async head() {
    const edge = new TreeEdge(LEAVES, this.edgeBytes)
    return { treeId: 1, edge, facts: this.chain.hash, isSound: true }
  }

  async nodes(_treeId: number, level: number, first: number, count: number) {
    const positions = Array.from({ length: count }, (_, index) => first + index)
    const found = positions.flatMap((position) => {
      const hash = this.stored.get(`${level} ${position}`)
      return hash === undefined ? [] : [[position, hash] as const]
    })
    return new Map(found)
  }

  async leaves(_treeId: number, first: number, count: number) {
    return this.leafRows.slice(first, first + count)
  }

  async strays() {
    return []
  }
}

let tree: StoredTree
beforeEach(() => {
  tree = new StoredTree()
})

const findings = async () => {
  const none = { async *[Symbol.asyncIterator]() {} }
  const { findings } = await verifyLog({
    blocks: { blocksIn: () => none },
    index: { findIndex: async () => null },
    models: { compiled: async () => new Map() },
    trees: tree,
    teamId: TEAM,
    keptFromMs: Number.POSITIVE_INFINITY,
    checkpoint: null,
    facts: null,
  })
  return findings.map(({ what, message }) => `${what}: ${message}`)
}

test('a tree whose records have left is as it was logged', async () => {
  expect(tree.stored.size).toBe(2)
  expect(await findings()).toEqual([])
})

// Proofs are made of these rows: one that is wrong gives proofs that nobody can verify.
test('a changed node above the leaves is named', async () => {
  tree.stored.set('8 1', Buffer.alloc(32))
  expect(await findings()).toEqual([
    'tree_changed: the row of log_tree_nodes with tree_id 1, level 8, position 1 was changed: it is not over the leaves below it',
  ])
})

test('a missing node above the leaves is named', async () => {
  tree.stored.delete('8 0')
  expect(await findings()).toEqual([
    'tree_changed: the row of log_tree_nodes with tree_id 1, level 8, position 0 is missing',
  ])
})

// The tree would grow from it to another root.
test('an edge with the right root but other parts is found', async () => {
  const { root } = new TreeEdge(LEAVES, tree.edgeBytes)
  tree.edgeBytes = root
  expect(await findings()).toHaveLength(1)
})
