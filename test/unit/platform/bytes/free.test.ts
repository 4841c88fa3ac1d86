import { expect, test } from 'vitest'
import { free } from '../../../../src/platform/bytes/free.ts'

// As garbage, the pieces of a file had V8 collect the whole heap of the service again and again.
test('memory is freed at once, and memory that others use stays', () => {
  const own = Buffer.alloc(100_000, 1)
  const pool = Buffer.alloc(100, 1)
  const shared = pool.subarray(10, 20)
  free(own)
  free(shared)
  expect(own).toHaveLength(0)
  expect(shared).toEqual(Buffer.alloc(10, 1))
})
