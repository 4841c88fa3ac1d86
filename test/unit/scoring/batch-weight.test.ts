import { expect, test } from 'vitest'
import { weighBatch } from '../../../src/scoring/batch-request.ts'

const MIB = 1024 * 1024

const bodyOfRecords = (count: number) => Buffer.from(`{"records":[${Array(count).fill('{}')}]}`)

test('a body weighs its bytes where it names its features', () => {
  const body = Buffer.from(`{"records":[{"income":${'1'.repeat(10_000)}}]}`)
  expect(weighBatch(body, 1)).toBe(body.length)
})

test('records that name nothing weigh what their card has', () => {
  expect(weighBatch(bodyOfRecords(999), 1_000)).toBe(8 * 1_000 * 1_000)
})

// Threads have room for two of the largest bodies: a heavier batch would be refused for ever.
test('a legal batch on eleven of the largest cards weighs no more than the largest body', () => {
  expect(weighBatch(bodyOfRecords(1_000), 11_000)).toBe(16 * MIB)
})

// Counting all of them would take the thread that answers a second.
test('brackets beyond those of a legal batch are not counted', () => {
  expect(weighBatch(Buffer.alloc(MIB, '{'), 10)).toBe(MIB)
})
