import fc from 'fast-check'
import { expect, test } from 'vitest'
import { packRequestId, unpackRequestId } from '../../../../src/log/blocks/request-id-column.ts'
import { newId } from '../../../../src/platform/ids.ts'

const LAST = 2 ** 42 - 1

test('an id of the service comes back from its 126 bits', () => {
  fc.assert(
    fc.property(fc.constantFrom(0, LAST, 1_795_000_000_123), (atMs) => {
      const id = newId('req_', atMs)
      const packed = packRequestId(id) ?? -1n
      expect(packed >= 0n && packed < 2n ** 126n).toBe(true)
      expect(unpackRequestId(packed)).toBe(id)
    }),
  )
  const highest = `${newId('req_', LAST).slice(0, 12)}zzzzzzzzzzzzzz`
  expect(unpackRequestId(packRequestId(highest) ?? 0n)).toBe(highest)
})

test.each([
  ['a short one', 'req_1'],
  ['one with another prefix', newId('mod_', 1)],
  ['one with another character', `${newId('req_', 1).slice(0, -1)}-`],
  ['one of a time after 2109', newId('req_', LAST + 1)],
])('%s is no id to pack', (_, id) => {
  expect(packRequestId(id)).toBeNull()
})
