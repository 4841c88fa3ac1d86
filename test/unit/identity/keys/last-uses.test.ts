import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import {
  FLUSH_INTERVAL_MS,
  type KeyUse,
  LastUses,
} from '../../../../src/identity/keys/last-uses.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A database that may be away, with every batch it took on the record. */
function recorder() {
  const batches: KeyUse[][] = []
  const database = { isAway: false, isSilent: false }
  const lastUses = new LastUses(async (uses) => {
    if (database.isSilent) await new Promise(() => {})
    if (database.isAway) throw new Error('away')
    batches.push([...uses])
  })
  return { batches, database, lastUses }
}

const use = (keyId: string, epochMs: number) => ({ keyId, usedAt: new Date(epochMs) })

// A statement for each request would make the database the bound of scoring.
test('uses are written once a minute, the latest of each key, in one batch', async () => {
  const { batches, lastUses } = recorder()
  for (let ms = 0; ms < 1_000; ms++) lastUses.note(ms % 2 === 0 ? 'even' : 'odd', ms)
  await vi.advanceTimersByTimeAsync(FLUSH_INTERVAL_MS - 1)
  expect(batches).toEqual([])
  await vi.advanceTimersByTimeAsync(1)
  expect(batches).toEqual([[use('even', 998), use('odd', 999)]])
})

// Somebody who looks for keys that nobody uses must not be shown one that is in use.
test('a use is written within a minute, and a key without new uses is not written again', async () => {
  const { batches, lastUses } = recorder()
  lastUses.note('first', 0)
  await vi.advanceTimersByTimeAsync(FLUSH_INTERVAL_MS / 2)
  lastUses.note('second', 1)
  await vi.advanceTimersByTimeAsync(FLUSH_INTERVAL_MS / 2)
  expect(batches).toEqual([[use('first', 0), use('second', 1)]])
  await vi.advanceTimersByTimeAsync(10 * FLUSH_INTERVAL_MS)
  expect(vi.getTimerCount(), 'an idle service has no timer').toBe(0)
  lastUses.note('first', 2)
  await vi.advanceTimersByTimeAsync(FLUSH_INTERVAL_MS)
  expect(batches.slice(1)).toEqual([[use('first', 2)]])
})

test('a use that could not be written is kept for the next time, and yields to a later use', async () => {
  const { batches, database, lastUses } = recorder()
  database.isAway = true
  lastUses.note('quiet', 1)
  lastUses.note('busy', 2)
  await vi.advanceTimersByTimeAsync(3 * FLUSH_INTERVAL_MS)
  lastUses.note('busy', 3)
  database.isAway = false
  await vi.advanceTimersByTimeAsync(FLUSH_INTERVAL_MS)
  expect(batches).toHaveLength(1)
  expect(new Set(batches[0])).toEqual(new Set([use('quiet', 1), use('busy', 3)]))
})

// One statement with the parameters of all keys would be as long as the service is successful.
test('a batch is bounded, and so are the uses in memory', async () => {
  const { batches, lastUses } = recorder()
  for (let n = 0; n < 100_100; n++) lastUses.note(`key-${n}`, n)
  await vi.advanceTimersByTimeAsync(FLUSH_INTERVAL_MS)
  expect(batches).toHaveLength(20)
  expect(batches.map((batch) => batch.length)).toEqual(Array(20).fill(5_000))
})

test('the uses in memory are written at the end', async () => {
  const { batches, lastUses } = recorder()
  lastUses.note('key', 1)
  await lastUses.close()
  expect(batches).toEqual([[use('key', 1)]])
  expect(vi.getTimerCount()).toBe(0)
})

// A process that waits for a dead database is killed, and loses more than this.
test('the end waits at most a second for a silent database', async () => {
  const { database, lastUses } = recorder()
  database.isSilent = true
  lastUses.note('key', 1)
  let isClosed = false
  const closing = lastUses.close().then(() => {
    isClosed = true
  })
  await vi.advanceTimersByTimeAsync(999)
  expect(isClosed).toBe(false)
  await vi.advanceTimersByTimeAsync(1)
  await closing
})
