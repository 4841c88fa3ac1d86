import { expect, test } from 'vitest'
import { FailedHours } from '../../../../src/log/blocks/upkeep/block-tables.ts'
import { BlockUpkeep } from '../../../../src/log/blocks/upkeep/block-upkeep.ts'
import { systemClock } from '../../../../src/platform/clock.ts'

const HOUR_MS = 3_600_000

test('merged blocks are deleted also in a round whose merge fails', async () => {
  const errors: unknown[] = []
  let dropped = 0
  const upkeep = new BlockUpkeep({
    tables: {
      rollUp: async () => 0,
      merge: () => Promise.reject(new Error('the block is damaged')),
      recheck: async () => undefined,
      dropSuperseded: async () => {
        dropped++
      },
    },
    clock: systemClock,
    onFailed: (error) => errors.push(error),
  })
  await upkeep.run()
  expect(dropped).toBe(1)
  expect(errors).toEqual([new Error('the block is damaged')])
  expect(upkeep.failures).toBe(1)
})

test('an hour is left alone after three failures, and tried again an hour later', () => {
  const failed = new FailedHours()
  for (const nowMs of [1, 2, 3]) {
    expect(failed.isSkipped(0, nowMs)).toBe(false)
    failed.add(0, nowMs)
  }
  expect(failed.isSkipped(0, 4)).toBe(true)
  expect(failed.isSkipped(HOUR_MS, 4)).toBe(false)
  expect(failed.isSkipped(0, 2 + HOUR_MS)).toBe(true)
  expect(failed.isSkipped(0, 3 + HOUR_MS)).toBe(false)
  failed.add(0, 3 + HOUR_MS)
  expect(failed.isSkipped(0, 4 + HOUR_MS)).toBe(false)
  failed.skip(0, 4 + HOUR_MS)
  expect(failed.isSkipped(0, 5 + HOUR_MS)).toBe(true)
})
