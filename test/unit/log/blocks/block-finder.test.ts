import { expect, test } from 'vitest'
import type { LostBlock } from '../../../../src/log/archive/archived-blocks.ts'
import { BlockFinder } from '../../../../src/log/blocks/block-finder.ts'
import type { ListedBlock } from '../../../../src/log/blocks/block-rows.ts'
import type { StoredBlock } from '../../../../src/log/blocks/stored-block.ts'

const NOW = Date.parse('2026-11-22T10:00:00Z')

/** Its sources are damaged: it is not kept. */
const BLOCK = {
  firstAtMs: NOW,
  checksum: 1,
  data: Buffer.from('a sound block'),
  rawBytes: 10,
  sources: Buffer.alloc(0),
  deploymentCount: 1,
}
/** The checksum of no bytes. */
const WHOLE = { sources: Buffer.alloc(4) }

const ROW = {
  place: 0,
  first_at_ms: NOW,
  bytes: 10,
  checksum: 1,
  is_archived: false,
  is_filter_sound: true,
}

/** What the readings of a block's data do. */
interface Readings {
  /** Groups of ids, one for each statement. */
  readonly groups: string[][]
  readonly damaged: Set<string>
  readonly lost: Set<string>
  /** What a reading of the archive waits for. */
  archive: Promise<unknown>
}

/** A finder for whose searches the database lists these blocks: those of the first search first. */
function openFinder(...listed: readonly (readonly string[])[]) {
  const readings: Readings = {
    groups: [],
    damaged: new Set(),
    lost: new Set(),
    archive: Promise.resolve(),
  }
  const rows = listed.flatMap((ids, place) =>
    ids.map((id): ListedBlock & { place: number } => ({
      ...ROW,
      place,
      block_id: id,
      is_archived: id.startsWith('archived'),
    })),
  )
  let lists = 0
  const db = { execute: async () => (lists++ === 0 ? rows : []) }
  async function* read(blocks: readonly ListedBlock[], onLost?: (lost: LostBlock) => void) {
    readings.groups.push(blocks.map(({ block_id }) => block_id))
    for (const { block_id: blockId, is_archived } of blocks) {
      if (is_archived) await readings.archive
      if (readings.damaged.has(blockId)) throw new Error(`${blockId} can't be read`)
      if (readings.lost.has(blockId)) onLost?.({ blockId } as LostBlock)
      else yield { ...BLOCK, blockId } as Partial<StoredBlock> as StoredBlock
    }
  }
  const finder = new BlockFinder(db as never, read)
  const find = async (onLost?: (lost: LostBlock) => void) => {
    const found: StoredBlock[] = []
    for await (const block of finder.blocksAt(NOW, onLost)) found.push(block)
    return found
  }
  return { readings, find, lists: () => lists }
}

test('searches that come together list and read their blocks in one statement each', async () => {
  const { readings, find, lists } = openFinder(['one'], ['two'], ['two'])
  const [, second, third] = await Promise.all([find(), find(), find()])
  expect(readings.groups).toEqual([['one', 'two']])
  // Near and far.
  expect(lists()).toBe(2)
  expect(second).toMatchObject([{ blockId: 'two' }])
  // The same object: it is opened once.
  expect(third?.[0]).toBe(second?.[0])
})

test('a block that can not be read fails no search for another', async () => {
  const { readings, find } = openFinder(['damaged'], ['sound'])
  readings.damaged.add('damaged')
  const [damaged, sound] = await Promise.allSettled([find(), find()])
  expect(damaged).toMatchObject({
    status: 'rejected',
    reason: { message: "damaged can't be read" },
  })
  expect(sound).toMatchObject({ value: [{ blockId: 'sound' }] })
})

test('a search in the database waits for none in the archive', async () => {
  const { readings, find } = openFinder(['archived'], ['stored'])
  const gate = Promise.withResolvers<void>()
  readings.archive = gate.promise
  const slow = find()
  expect(await find()).toMatchObject([{ blockId: 'stored' }])
  gate.resolve()
  expect(await slow).toMatchObject([{ blockId: 'archived' }])
})

test('a file that the archive has lost is told to each who looks for a block of it', async () => {
  const { readings, find } = openFinder(['archived'], ['archived'])
  readings.lost.add('archived')
  const lost: string[] = []
  const onLost = ({ blockId }: LostBlock) => void lost.push(blockId)
  expect(await Promise.all([find(onLost), find(onLost)])).toEqual([[], []])
  expect(lost).toEqual(['archived', 'archived'])
})

// Its cache counts bytes of data: it must not keep what Node shares between small buffers.
test('a block that is found keeps no memory but its own', async () => {
  const { find } = openFinder(['one'])
  const [{ data } = BLOCK] = await find()
  expect(data).toEqual(BLOCK.data)
  expect(data.buffer.byteLength).toBe(data.length)
})

// With one request of each deployment, open blocks have taken seven times what was counted.
test('a block weighs in the cache what its deployments take once it is open', async () => {
  const countReadings = async (deploymentCount: number) => {
    let readings = 0
    // Near and far searches list both.
    const db = { execute: async () => ['first', 'second'].map((id) => ({ ...ROW, block_id: id })) }
    const finder = new BlockFinder(db as never, async function* (listed) {
      for (const { block_id: blockId } of listed) {
        readings++
        yield { ...BLOCK, ...WHOLE, blockId, deploymentCount } as never
      }
    })
    for await (const block of finder.blocksAt(NOW)) expect(block.data).toEqual(BLOCK.data)
    return readings
  }
  expect(await countReadings(10)).toBe(2)
  expect(await countReadings(5_000)).toBe(4)
})
