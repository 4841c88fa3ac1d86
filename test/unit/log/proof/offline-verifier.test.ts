import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { CheckpointSigner, type TreeState } from '../../../../src/log/proof/checkpoint.ts'
import {
  computeRoot,
  consistencyRanges,
  inclusionRanges,
  type LeafRange,
  leafHash,
} from '../../../../src/log/proof/merkle.ts'

const SIZES = Array.from({ length: 64 }, (_, index) => index + 1)
const ORIGIN = 'scoreline/team_1'
const signer = new CheckpointSigner('a secret of the tests, long enough', null)
const KEY = signer.verifierKey(ORIGIN)

interface Verifier {
  /** Each throws where something is not proved. */
  checkProof(proof: object, key: string): string
  checkConsistency(older: TreeState, newer: TreeState, path: readonly Buffer[]): void
  readCheckpoint(note: string, key: string): TreeState
}

/** The functions of the program, whose last part reads files. */
async function offlineVerifier(): Promise<Verifier> {
  const text = readFileSync('docs/verify-proof.mjs', 'utf8')
  const program = text.indexOf('\ntry {\n')
  expect(program).toBeGreaterThan(0)
  const names = 'checkProof, checkConsistency, readCheckpoint'
  const module = `${text.slice(0, program).replace(/^#!.*/, '')}\nexport { ${names} }`
  return import(`data:text/javascript;base64,${Buffer.from(module).toString('base64')}`)
}

const verifier = await offlineVerifier()
const readLeaf = (index: number) => Buffer.from(`{"record":${index}}`)
const BLOCK_LEAVES = SIZES.map((_, index) => leafHash(readLeaf(index)))

const formatPath = (leaves: readonly Buffer[], ranges: readonly LeafRange[]) =>
  ranges.map((range) => computeRoot(leaves, range).toString('hex'))

/** A block with `size` leaves, and a tree with as many blocks like it. */
const LOGS = SIZES.map((size) => {
  const block = BLOCK_LEAVES.slice(0, size)
  const tree = block.map(() => leafHash(computeRoot(block)))
  const checkpoint = signer.checkpoint({ origin: ORIGIN, size, root: computeRoot(tree) })
  return { block, tree, checkpoint }
})

/** The answer for a leaf of the block with the same place in the tree. */
function readProof(index: number, size: number) {
  const log = LOGS[size - 1]
  if (log === undefined) throw new Error('there is no such log')
  const { block, tree, checkpoint } = log
  const ranges = inclusionRanges(index, [0, size])
  return {
    leaf: readLeaf(index).toString('base64'),
    block: { sequence: index, index, size, path: formatPath(block, ranges) },
    tree: { index, size, path: formatPath(tree, ranges) },
    checkpoint,
  }
}

const isProved = (proof: object): boolean => {
  try {
    verifier.checkProof(proof, KEY)
    return true
  } catch {
    return false
  }
}

test('the verifier for auditors accepts each proof of each tree to 64 leaves', () => {
  for (const size of SIZES) {
    for (let index = 0; index < size; index++) {
      expect(verifier.checkProof(readProof(index, size), KEY)).toContain(`"record": ${index}`)
    }
  }
})

test('it finds that each of these trees began as each smaller one', () => {
  const readState = (size: number) => ({
    origin: ORIGIN,
    size,
    root: computeRoot(BLOCK_LEAVES, [0, size]),
  })
  for (const to of SIZES) {
    for (let from = 1; from <= to; from++) {
      const path = consistencyRanges(from, to).map((range) => computeRoot(BLOCK_LEAVES, range))
      const [older, newer] = [readState(from), readState(to)]
      verifier.checkConsistency(older, newer, path)
      for (const wrong of [
        { ...older, root: computeRoot(BLOCK_LEAVES, [0, 65 - from]) },
        { ...older, root: Buffer.alloc(32) },
      ]) {
        if (wrong.root.equals(older.root)) continue
        expect(() => verifier.checkConsistency(wrong, newer, path)).toThrow()
      }
    }
  }
})

/** Each text that differs from another in one bit. */
function* flipped(text: string): Generator<string> {
  const bytes = Buffer.from(text)
  for (let bit = 0; bit < 8 * bytes.length; bit++) {
    const changed = Buffer.from(bytes)
    changed[bit >>> 3] = (changed[bit >>> 3] ?? 0) ^ (1 << (bit & 7))
    yield changed.toString()
  }
}

// Base64 has bits that no byte has, and a note has bytes that are in no signature.
test('one flipped bit anywhere in leaf, path or note is found', () => {
  const proof = readProof(1, 3)
  expect(isProved(proof)).toBe(true)
  for (const leaf of flipped(proof.leaf)) expect(isProved({ ...proof, leaf }), leaf).toBe(false)
  for (const checkpoint of flipped(proof.checkpoint)) {
    expect(isProved({ ...proof, checkpoint }), checkpoint).toBe(false)
  }
  for (const part of ['block', 'tree'] as const) {
    for (const [at, hash] of proof[part].path.entries()) {
      for (const changed of flipped(hash)) {
        const path = proof[part].path.with(at, changed)
        expect(isProved({ ...proof, [part]: { ...proof[part], path } }), changed).toBe(false)
      }
    }
  }
})

test('the service refuses a note of its own with one flipped bit', () => {
  const { checkpoint } = readProof(1, 3)
  expect(signer.read(checkpoint)).not.toBeNull()
  for (const changed of flipped(checkpoint)) expect(signer.read(changed), changed).toBeNull()
})
