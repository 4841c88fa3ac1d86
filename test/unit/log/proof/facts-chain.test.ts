import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { FactsChain } from '../../../../src/log/proof/facts-chain.ts'

const LEAVES = [0, 1, 2].map((sequence) => ({
  sequence,
  root: Buffer.alloc(32, sequence + 1),
  applicants: 10 * sequence + 1,
  firstAtMs: 1_795_000_000_123 + sequence,
}))
const sha256 = (...parts: (Buffer | string)[]) =>
  parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest()

// Notes that someone has kept must stay comparable: not one byte of the chain may change.
test('the chain is what the documents say of it', () => {
  let expected = sha256('{"team_id":"team_1"}')
  const chain = FactsChain.begin('team_1')
  expect(chain.hash).toEqual(expected)
  for (const leaf of LEAVES) {
    chain.add(leaf)
    const root = leaf.root.toString('hex')
    const { applicants, firstAtMs, sequence } = leaf
    const text = `{"applicants":${applicants},"first_at_ms":${firstAtMs},"root":"${root}","sequence":${sequence}}`
    expected = sha256(expected, text)
  }
  expect([chain.size, chain.hash]).toEqual([3, expected])
  const [first, second, third] = LEAVES
  if (first === undefined || second === undefined || third === undefined) throw new Error('three')
  const half = FactsChain.begin('team_1')
  half.add(first)
  const rest = new FactsChain(half.size, half.hash)
  // It takes no leaf that comes again, or too early.
  for (const leaf of [first, third, second, third]) rest.add(leaf)
  expect(rest.hash).toEqual(expected)
})

test('another team, time, count or root gives another hash', () => {
  const computeHash = (teamId: string, change: object) => {
    const chain = FactsChain.begin(teamId)
    for (const leaf of LEAVES) chain.add({ ...leaf, ...(leaf.sequence === 1 && change) })
    return chain.hash.toString('hex')
  }
  const hashes = [
    computeHash('team_1', {}),
    computeHash('team_2', {}),
    computeHash('team_1', { applicants: 12 }),
    computeHash('team_1', { firstAtMs: 1 }),
    computeHash('team_1', { root: Buffer.alloc(32) }),
  ]
  expect(new Set(hashes).size).toBe(hashes.length)
})
