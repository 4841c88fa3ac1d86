import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  listAll,
  listPortions,
  makePage,
  PORTION_ITEMS,
  rowsToRead,
} from '../../../src/platform/paging.ts'

interface Item {
  readonly id: string
}

/** As a store reads it: items after the cursor, the largest id first. */
function readFrom(ids: ReadonlySet<string>) {
  return async (page: { limit: number; cursor?: string | undefined }) => {
    const { cursor } = page
    const rows = [...ids]
      .filter((id) => cursor === undefined || id < cursor)
      .sort()
      .reverse()
      .map((id): Item => ({ id }))
      .slice(0, rowsToRead(page))
    expect(page.limit).toBeLessThanOrEqual(PORTION_ITEMS)
    return makePage(rows, page)
  }
}
const readId = (n: number) => `key_${String(n).padStart(6, '0')}`

// Keys are made and revoked while others read the list of them.
test('an item that stays in a list is read once, whatever is added or removed between two portions', async () => {
  const change = fc.record({ adds: fc.boolean(), at: fc.nat(4_000) })
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.nat(4_000), { minLength: 501, maxLength: 2_000 }),
      fc.array(fc.array(change, { maxLength: 200 }), { maxLength: 4 }),
      async (start, changes) => {
        const ids = new Set(start.map(readId))
        const lasting = new Set(ids)
        const came: string[] = []
        let portion = 0
        for await (const items of listPortions(readFrom(ids))) {
          for (const { id } of items) came.push(id)
          for (const { adds, at } of changes[portion++] ?? []) {
            if (adds) ids.add(readId(at))
            else if (ids.delete(readId(at))) lasting.delete(readId(at))
          }
        }
        expect(came).toEqual([...new Set(came)].sort().reverse())
        expect([...lasting].filter((id) => !came.includes(id))).toEqual([])
      },
    ),
    { numRuns: 50 },
  )
})

test.each([0, 1, 499, 500, 501, 1_000, 1_001])('a list of %d is read to its end', async (size) => {
  const ids = Array.from({ length: size }, (_, n) => readId(n))
  const all = await listAll(readFrom(new Set(ids)))
  expect(all.map(({ id }) => id)).toEqual(ids.reverse())
})
