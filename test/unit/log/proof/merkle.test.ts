import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DamagedTree, LogTree } from '../../../../src/log/proof/log-tree.ts'
import {
  computeRoot,
  consistencyRanges,
  inclusionRanges,
  type LeafRange,
  leafHash,
  rootInPlace,
  TreeEdge,
  type TreeNode,
} from '../../../../src/log/proof/merkle.ts'
import type { TreeStore } from '../../../../src/log/proof/tree-store.ts'

/** The roots of these parts. */
const computeHashes = (leaves: readonly Buffer[], ranges: readonly LeafRange[]) =>
  ranges.map((range) => computeRoot(leaves, range))

/** Computed by another implementation, see PROVENANCE.md beside the file. */
const REFERENCE: readonly {
  readonly n: number
  readonly root: string
  /** SHA-256 over the proofs of all leaves, in their order. */
  readonly inclusion: string
  /** SHA-256 over the proofs of all older sizes from 1 on. */
  readonly consistency: string
}[] = JSON.parse(readFileSync('test/fixtures/merkle/reference.json', 'utf8'))

const readLeaves = (count: number) =>
  Array.from({ length: count }, (_, index) => leafHash(Buffer.of(index % 256, index >> 8)))
const oneByteLeaves = (count: number) =>
  Array.from({ length: count }, (_, index) => leafHash(Buffer.of(index)))
const digest = (hashes: readonly Buffer[]) =>
  createHash('sha256').update(Buffer.concat(hashes)).digest('hex')

test('a root in place is that of the recursive definition, for every size', () => {
  for (let size = 0; size <= 300; size++) {
    const leaves = readLeaves(size)
    expect(rootInPlace(Buffer.concat(leaves))).toEqual(computeRoot(leaves))
  }
})

/** A store of a tree as the drain writes it, whose leaves are these roots. */
function storedTree(roots: readonly Buffer[]) {
  const edge = new TreeEdge()
  const nodes = new Map<string, Buffer>()
  let reads = 0
  for (const [position, root] of roots.entries()) {
    nodes.set(`0 ${position}`, root)
    const completed: TreeNode[] = edge.add(leafHash(root))
    for (const { level, position: at, hash } of completed) nodes.set(`${level} ${at}`, hash)
  }
  const store: Pick<TreeStore, 'nodes'> = {
    nodes: async (_, level, first, count) => {
      reads++
      const found = new Map<number, Buffer>()
      for (let at = first; at < first + count; at++) {
        const hash = nodes.get(`${level} ${at}`)
        if (hash !== undefined) found.set(at, hash)
      }
      return found
    },
  }
  const tree = () => new LogTree(store as TreeStore, 'team_1', { treeId: 1, edge })
  return { edge, nodes, tree, reads: () => reads }
}

describe('for every size to 64', () => {
  test('roots and all proofs are those of another implementation', () => {
    expect(REFERENCE.length).toBe(64)
    for (const { n, root, inclusion, consistency } of REFERENCE) {
      const leaves = oneByteLeaves(n)
      expect(computeRoot(leaves).toString('hex')).toBe(root)
      const all = leaves.flatMap((_, index) =>
        computeHashes(leaves, inclusionRanges(index, [0, n])),
      )
      expect(digest(all), `inclusion in ${n}`).toBe(inclusion)
      const older = leaves.flatMap((_, index) =>
        computeHashes(leaves, consistencyRanges(index + 1, n)),
      )
      expect(digest(older), `consistency with ${n}`).toBe(consistency)
    }
  })
})

// The leaves of RFC 6962's reference tree, whose roots were published with Certificate
// Transparency.
test('the tree of the known leaves has the known roots', () => {
  const leaves = [
    ...['', '00', '10', '2021', '3031', '40414243', '5051525354555657'],
    '606162636465666768696a6b6c6d6e6f',
  ].map((hex) => leafHash(Buffer.from(hex, 'hex')))
  const roots = [0, 1, 2, 3, 8].map((size) => computeRoot(leaves.slice(0, size)).toString('hex'))
  expect(roots).toEqual([
    'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
    'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
    'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
    '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
  ])
})

test('the right edge gives the root of every size, also from its bytes', () => {
  const leaves = readLeaves(600)
  let edge = new TreeEdge()
  for (const [index, leaf] of leaves.entries()) {
    expect(edge.root).toEqual(computeRoot(leaves, [0, index]))
    edge.add(leaf)
    edge = new TreeEdge(edge.size, edge.bytes)
  }
})

test('a stored tree gives the proofs of the whole tree, and reads few nodes', async () => {
  const roots = Array.from({ length: 70_000 }, (_, index) => Buffer.from(`block ${index}`))
  const leaves = roots.map(leafHash)
  const { edge, tree, reads } = storedTree(roots)
  expect(edge.root).toEqual(computeRoot(leaves))
  for (const index of [0, 255, 256, 65_535, 65_536, 69_999]) {
    const path = await tree().inclusion(index, roots[index] ?? Buffer.alloc(0))
    expect(path).toEqual(computeHashes(leaves, inclusionRanges(index, [0, leaves.length])))
  }
  expect(reads()).toBeLessThanOrEqual(6 * 6)
})

test('a stored tree gives proofs of consistency between any sizes', async () => {
  const roots = Array.from({ length: 1_000 }, (_, index) => Buffer.from(`block ${index}`))
  const leaves = roots.map(leafHash)
  const { tree } = storedTree(roots)
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 1_000 }), fc.nat(1_000), async (one, other) => {
      const [from, to] = [Math.min(one, Math.max(1, other)), Math.max(one, other)]
      const path = await tree().consistency(from, to)
      expect(path).toEqual(computeHashes(leaves, consistencyRanges(from, to)))
    }),
    { numRuns: 60 },
  )
})

// A proof over damaged nodes says that a log was changed which was not.
test('a flipped bit of a stored node is never in a proof', async () => {
  const roots = Array.from({ length: 700 }, (_, index) => leafHash(Buffer.from(`block ${index}`)))
  const leaves = roots.map(leafHash)
  const { nodes, tree } = storedTree(roots)
  const names = [...nodes.keys()]
  let refusals = 0
  const sound = async (proof: Promise<unknown>, expected: unknown) => {
    const found = await proof.catch((error: unknown) => error)
    if (found instanceof DamagedTree) refusals++
    else expect(found).toEqual(expected)
  }
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...names),
      fc.nat(255),
      fc.integer({ min: 1, max: 700 }),
      fc.integer({ min: 1, max: 700 }),
      async (name, bit, one, other) => {
        const hash = nodes.get(name) ?? Buffer.alloc(0)
        const flipped = Buffer.from(hash)
        flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
        nodes.set(name, flipped)
        const [from, to] = [Math.min(one, other), Math.max(one, other)]
        await sound(
          tree().consistency(from, to),
          computeHashes(leaves, consistencyRanges(from, to)),
        )
        const path = computeHashes(leaves, inclusionRanges(one - 1, [0, leaves.length]))
        await sound(tree().inclusion(one - 1, roots[one - 1] ?? hash), path)
        nodes.set(name, hash)
      },
    ),
    { numRuns: 200 },
  )
  expect(refusals).toBeGreaterThan(50)
})
