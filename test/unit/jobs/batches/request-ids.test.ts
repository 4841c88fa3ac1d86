import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { newRequestSeed, requestOfChunk } from '../../../../src/jobs/batches/batch.ts'
import { isId, timeOfId } from '../../../../src/platform/ids.ts'

const CREATED_AT_MS = Date.parse('2026-11-23T05:06:07.089Z')
const BATCH = {
  id: 'job_0VLGm5Tt4Kp8SgDb2XwNq7',
  requestSeed: newRequestSeed(),
  createdAt: new Date(CREATED_AT_MS),
  chunks: 0,
  position: { offset: 12, line: 1 },
}
const LETTERS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

test('a chunk has the same request each time, with the time of its batch and its number', () => {
  for (const chunks of [0, 1, 999]) {
    const request = requestOfChunk({ ...BATCH, chunks })
    expect(requestOfChunk({ ...BATCH, chunks })).toBe(request)
    expect(isId(request, 'req_')).toBe(true)
    expect(request).toMatch(/^req_[0-9A-Za-z]{22}$/)
    expect(timeOfId(request)).toBe(CREATED_AT_MS + chunks)
  }
})

test('requests differ by batch, chunk, place and seed, and follow from no other than the seed', () => {
  const others = [
    BATCH,
    { ...BATCH, id: 'job_0VLGm5Tt4Kp8SgDb2XwNq8' },
    { ...BATCH, chunks: 1 },
    { ...BATCH, position: { offset: 13, line: 1 } },
    { ...BATCH, requestSeed: newRequestSeed() },
  ]
  const ends = new Set(others.map((one) => requestOfChunk(one).slice(-14)))
  expect(ends.size).toBe(others.length)
})

test('the end of a request is an HMAC-SHA-256 of batch, number and place in base 62', () => {
  const key = Buffer.from(BATCH.requestSeed, 'base64url')
  expect(key).toHaveLength(32)
  const digest = createHmac('sha256', key).update(`${BATCH.id} 0 12`).digest('hex')
  let number = BigInt(`0x${digest}`) % 62n ** 14n
  let end = ''
  for (; end.length < 14; number /= 62n) end = LETTERS[Number(number % 62n)] + end
  expect(requestOfChunk(BATCH).slice(-14)).toBe(end)
})
