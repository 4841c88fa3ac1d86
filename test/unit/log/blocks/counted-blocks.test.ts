import { expect, test } from 'vitest'
import { takeCounts } from '../../../../src/log/blocks/counted-blocks.ts'
import { DamagedBlock, DamagedBlocks } from '../../../../src/log/blocks/damaged-block.ts'
import type { Statements } from '../../../../src/platform/db/client.ts'

const blocks = ['1', '2', '3'].map((block_id) => ({
  block_id,
  first_at_ms: Date.parse('2026-11-05T10:00:00Z'),
  is_archived: false,
  bytes: 1,
  checksum: 0,
  is_filter_sound: true,
}))

// Its page is lost, and only a row that is named is mended.
test('of counts that the database can not read, those of the damaged row are named', async () => {
  let asked = 0
  const db = {
    execute: async () => {
      asked++
      // All three, then the first, then the second.
      if (asked === 2) return []
      throw Object.assign(new Error('missing chunk number 0'), { code: 'XX001' })
    },
  } as unknown as Statements
  const damaged = new DamagedBlocks(() => undefined)
  const query = {
    deploymentId: 'dep_1',
    fromMs: 0,
    toMs: Date.parse('2026-12-01T00:00:00Z'),
    order: 'oldest',
    counts: { teamId: 'team_1', open: () => () => true },
  } as unknown as Parameters<typeof takeCounts>[2]
  const taken = takeCounts({ db, damaged }, blocks, query)
  const error = await taken.catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(DamagedBlock)
  expect((error as DamagedBlock).damage).toMatchObject({ blockId: '2', part: 'counts' })
  expect(damaged.counts()).toMatchObject({ counts: 1 })
})
