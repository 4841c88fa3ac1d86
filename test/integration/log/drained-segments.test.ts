import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Spool, SpoolOptions } from '../../../src/log/spool/spool.ts'
import { drainedIds, log, newSpoolDir, openSpool } from '../../support/score-log/spools.ts'
import { ManualClock } from '../../support/start/manual-clock.ts'

const ids = (count: number, prefix = 'req_') =>
  Array.from({ length: count }, (_, number) => `${prefix}${String(number).padStart(5, '0')}`)

function setUp() {
  const directory = newSpoolDir()
  onTestFinished(directory.remove)
  const clock = new ManualClock()
  const opened = new Set<Spool>()
  const open = async (options: Partial<SpoolOptions> = {}): Promise<Spool> => {
    const spool = await openSpool(directory.path, { clock, keepMs: 900_000, ...options })
    opened.add(spool)
    return spool
  }
  const close = async (spool: Spool) => {
    opened.delete(spool)
    await spool.close()
  }
  onTestFinished(async () => {
    for (const spool of opened) await spool.close()
  })
  return { path: directory.path, clock, open, close }
}

function listSegments(path: string): string[] {
  return readdirSync(path, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.seg'),
  )
}

const START = { segment: 0, offset: 0 }
const onlyId = (spool: Spool) => [...spool.positions().keys()][0] ?? ''

test('drained records stay for their time and can be drained again until then', async () => {
  const { path, clock, open } = setUp()
  const spool = await open({ bytesMax: 400_000 })
  for (const id of ids(600)) await log(spool, id)
  expect(await drainedIds(spool)).toEqual(ids(600))
  const kept = listSegments(path).length
  expect(kept).toBeGreaterThanOrEqual(2)
  expect(spool.stats.bytes).toBeLessThan(60_000)
  // The database went back to the start.
  await spool.follow(onlyId(spool), START)
  expect(spool.stats.records).toBe(600)
  expect(await drainedIds(spool)).toEqual(ids(600))
  clock.advance(900_001)
  await log(spool, 'req_later')
  expect(await drainedIds(spool)).toEqual(['req_later'])
  expect(listSegments(path).length).toBeLessThan(kept)
})

test('kept records never cost a score its room: the oldest go first', async () => {
  const { path, open } = setUp()
  const warnings: string[] = []
  const spool = await open({
    bytesMax: 100_000,
    warn: (_facts, text) => void warnings.push(text),
  })
  for (let round = 0; round < 10; round++) {
    const wanted = ids(300, `req_${round}_`)
    for (const id of wanted) await log(spool, id)
    expect(await drainedIds(spool)).toEqual(wanted)
  }
  const bytes = listSegments(path).reduce(
    (sum, name) => sum + readFileSync(join(path, name)).length,
    0,
  )
  expect(bytes).toBeLessThan(100_000)
  expect(bytes).toBeGreaterThan(30_000)
  expect(warnings).toEqual([])
  // What is kept is the newest.
  await spool.follow(onlyId(spool), START)
  const again = await drainedIds(spool)
  expect(again.length).toBeGreaterThan(100)
  expect(again.at(-1)).toBe('req_9_00299')
  expect(warnings).toEqual([
    'the database lacks records that the spool no longer keeps',
    'the database has lost records, which are drained again',
  ])
})

test('the next process takes over what an ended one has kept, under the same identity', async () => {
  const { path, open, close } = setUp()
  const first = await open()
  for (const id of ids(20)) await log(first, id)
  expect(await drainedIds(first)).toEqual(ids(20))
  const identity = onlyId(first)
  const position = first.positions().get(identity)
  await close(first)
  const second = await open()
  expect(second.positions().get(identity)).toEqual(position)
  expect(await drainedIds(second)).toEqual([])
  await second.follow(identity, START)
  expect(await drainedIds(second)).toEqual(ids(20))
  await close(second)
  const third = await open({ keepMs: 0 })
  await close(third)
  expect(listSegments(path)).toEqual([])
})

test('a directory gets an identity, with a checksum', async () => {
  const { path, open } = setUp()
  const first = await open()
  await log(first, 'req_1')
  const [directory = ''] = readdirSync(path)
  const identity = readFileSync(join(path, directory, 'identity'), 'utf8')
  expect(identity).toMatch(/^1 [0-9A-Za-z]{22} [0-9a-f]{8}$/)
  expect([...first.positions().keys()]).toEqual([identity.slice(2, 24)])
})

test('a position of the database that is further on is taken over', async () => {
  const { open } = setUp()
  const spool = await open()
  for (const id of ids(20)) await log(spool, id)
  const { token } = await spool.readBatch(15, 1e6)
  const { segment, offset } = token
  expect(await spool.follow(onlyId(spool), { segment, offset })).toBe(15)
  expect(spool.stats.records).toBe(5)
  expect(await drainedIds(spool)).toEqual(ids(20).slice(15))
})
