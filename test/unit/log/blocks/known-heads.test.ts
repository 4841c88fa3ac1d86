import { expect, test } from 'vitest'
import { KnownHeads } from '../../../../src/log/blocks/known-heads.ts'
import { recordPayload } from '../../../support/score-log/record-payloads.ts'

const CHAMPION = { modelId: 'mod_1', challengerId: null, features: 3, bytesPerCell: 1 } as const
const readRecord = (deploymentId: string) =>
  recordPayload({ models: [CHAMPION], rows: [], deploymentId })

test('a head is read once, whatever records come between', () => {
  const known = new KnownHeads()
  const [one, other] = [known.of(readRecord('dep_1')), known.of(readRecord('dep_2'))]
  expect([one, other].map(({ head }) => head.deploymentId)).toEqual(['dep_1', 'dep_2'])
  expect(known.of(readRecord('dep_1'))).toBe(one)
  expect(known.of(readRecord('dep_1'))).toBe(one)
  expect(known.of(readRecord('dep_2'))).toBe(other)
})

test('a head does not change with the memory that it was read from', () => {
  const known = new KnownHeads()
  const payload = readRecord('dep_1')
  const { bytes } = known.of(payload)
  const before = Buffer.from(bytes)
  payload.fill(0)
  expect(bytes).toEqual(before)
  expect(known.of(readRecord('dep_1')).head.deploymentId).toBe('dep_1')
})

// Its bound would be two hundred times what it says: the service has kept 317 MB for 5,000 heads.
test('a head keeps no memory but its own', () => {
  const { bytes } = new KnownHeads().of(readRecord('dep_1'))
  expect(bytes.buffer.byteLength).toBe(bytes.length)
})

test('heads have a bound, beyond which they are read again', () => {
  const known = new KnownHeads()
  const payload = readRecord('dep_1')
  const first = known.of(payload)
  // 2 MiB of heads are kept.
  const fill = 3_000
  for (let n = 0; n < fill; n++) known.of(readRecord(`dep_${n}${'x'.repeat(200)}`))
  expect(known.of(payload)).toBe(first)
  for (let n = fill; n < 3 * fill; n++) known.of(readRecord(`dep_${n}${'x'.repeat(200)}`))
  const again = known.of(payload)
  expect(again).not.toBe(first)
  expect(again.head).toEqual(first.head)
})

test('a record that ends within its head is refused', () => {
  expect(() => new KnownHeads().of(readRecord('dep_1').subarray(0, 20))).toThrow('cut off')
})
