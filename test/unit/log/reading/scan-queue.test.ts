import { setTimeout } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { ScanQueue, untilAborted } from '../../../../src/log/reading/scan-queue.ts'

/** A scan that ends when it is told to. */
function readScan(queue: ScanQueue, teamId: string, name: string, begun: string[]) {
  const open = Promise.withResolvers<string>()
  const done = queue
    .run(teamId, () => {
      begun.push(name)
      return open.promise
    })
    .catch((error) => error.code)
  return { done, end: () => open.resolve(name) }
}

// A console that asks for one report after the other must not keep other teams from theirs.
test('teams take turns, however many scans one of them wants', async () => {
  const queue = new ScanQueue()
  const begun: string[] = []
  const wanted = ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']
  const scans = wanted.map((name) => readScan(queue, name.charAt(0), name, begun))
  for (const { end } of scans) end()
  expect(await Promise.all(scans.map(({ done }) => done))).toEqual(wanted)
  expect(begun).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2'])
})

test('one scan runs at a time, and a scan that fails gives way to the next', async () => {
  const queue = new ScanQueue()
  let running = 0
  let most = 0
  const scan = (error: Error | null) => async () => {
    most = Math.max(most, ++running)
    await setTimeout(1)
    running--
    if (error !== null) throw error
    return 'done'
  }
  const ends = await Promise.allSettled([
    queue.run('a', scan(new Error('it fails'))),
    queue.run('b', scan(null)),
    queue.run('a', scan(null)),
  ])
  expect(ends.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled'])
  expect(most).toBe(1)
})

test('a team beyond its bound is refused, and others still find a place', async () => {
  const queue = new ScanQueue({ ofTeamMax: 2, waitingMax: 3 })
  const begun: string[] = []
  const first = readScan(queue, 'a', 'a1', begun)
  const second = readScan(queue, 'a', 'a2', begun)
  expect(await readScan(queue, 'a', 'a3', begun).done).toBe('unavailable')
  const other = readScan(queue, 'b', 'b1', begun)
  const last = readScan(queue, 'c', 'c1', begun)
  expect(await readScan(queue, 'd', 'd1', begun).done).toBe('unavailable')
  for (const { end } of [first, second, other, last]) end()
  const open = [first, second, other, last].map(({ done }) => done)
  expect(await Promise.all(open)).toEqual(['a1', 'a2', 'b1', 'c1'])
  const again = readScan(queue, 'a', 'a4', begun)
  again.end()
  expect(await again.done).toBe('a4')
})

test('a scan that waits too long is refused, and takes no place any more', async () => {
  const queue = new ScanQueue({ ofTeamMax: 1, waitMsMax: 5 })
  const begun: string[] = []
  const first = readScan(queue, 'a', 'a1', begun)
  expect(await readScan(queue, 'b', 'b1', begun).done).toBe('unavailable')
  first.end()
  await first.done
  const again = readScan(queue, 'b', 'b2', begun)
  again.end()
  expect(await again.done).toBe('b2')
  expect(begun).toEqual(['a1', 'b2'])
})

// The caller hears at once; the next scan begins when the late one has really ended.
test('a scan that takes too long is refused with what to change, and is ended', async () => {
  const queue = new ScanQueue({ scanMsMax: 20 })
  let portions = 0
  async function* endless() {
    for (;;) {
      await setTimeout(1)
      yield portions++
    }
  }
  const scan = queue.run('a', async (signal) => {
    for await (const _ of untilAborted(endless(), signal));
  })
  await expect(scan).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('choose a shorter period'),
  })
  const seen = await queue.run('b', async () => portions)
  await setTimeout(20)
  expect(portions).toBe(seen)
})
