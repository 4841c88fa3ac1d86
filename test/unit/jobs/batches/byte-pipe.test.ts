import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { HandedBytes } from '../../../../src/jobs/batches/byte-pipe.ts'

const BYTES = Buffer.from(Array.from({ length: 1_000 }, (_, at) => at % 251))

test.each([1, 7, 400, 1_000])('results in portions of %i bytes arrive whole', async (portion) => {
  const pipe = new PassThrough()
  const handed = new HandedBytes(pipe)
  for (let at = 0; at < BYTES.length; at += portion) {
    pipe.write(Buffer.from(Uint8Array.from(BYTES.subarray(at, at + portion)).buffer))
  }
  expect(await handed.take(300)).toEqual(BYTES.subarray(0, 300))
  expect(await handed.take(0)).toHaveLength(0)
  expect(await handed.take(700)).toEqual(BYTES.subarray(300))
})

test('results of a process that ends amid them are refused', async () => {
  const pipe = new PassThrough()
  const handed = new HandedBytes(pipe)
  pipe.end(Buffer.alloc(10))
  await expect(handed.take(11)).rejects.toThrow('the process has ended')
})
