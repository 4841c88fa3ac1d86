import { expect, test } from 'vitest'
import { packed, unpacked } from '../../../../src/log/blocks/bytes.ts'

// Found blocks stay open in a cache: it must not keep what Node shares between small buffers.
test('columns that are unpacked keep no memory but their own', () => {
  const columns = Buffer.from('columns of a small block '.repeat(20))
  const read = unpacked(packed(columns, Buffer.alloc(8)))
  expect(read.columns).toEqual(columns)
  expect(read.columns.buffer.byteLength).toBe(columns.length)
})
