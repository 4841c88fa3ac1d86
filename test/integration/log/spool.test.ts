import {
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { AppError } from '../../../src/errors.ts'
import { RESERVE_FILE } from '../../../src/log/spool/appender.ts'
import { type Spool, SpoolOpenError } from '../../../src/log/spool/spool.ts'
import { LOCK_FILE } from '../../../src/platform/data-dir/directory-lock.ts'
import {
  drain,
  drainedIds,
  killedCopy,
  log,
  newSpoolDir,
  openSpool,
} from '../../support/score-log/spools.ts'

/** What processes share beside their own directories. */
const OF_ALL = [LOCK_FILE, RESERVE_FILE]

const spools: Spool[] = []
const removals: (() => void)[] = []

function directory(): string {
  const { path, remove } = newSpoolDir()
  removals.push(remove)
  return path
}

async function open(...args: Parameters<typeof openSpool>): Promise<Spool> {
  const spool = await openSpool(...args)
  spools.push(spool)
  return spool
}

afterEach(async () => {
  for (const spool of spools.splice(0)) await spool.close()
  for (const remove of removals.splice(0)) remove()
})

const ids = (count: number, prefix = 'req_') =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`)

function segmentFiles(path: string): string[] {
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.seg'))
    .sort()
    .map((name) => join(path, name))
}

async function formatRefusal(work: () => Promise<void>): Promise<string> {
  try {
    await work()
    return 'none'
  } catch (error) {
    return error instanceof AppError ? error.code : String(error)
  }
}

test.each(['process', 'disk', 'database'] as const)(
  'in mode %s what was answered survives the process being killed',
  async (durability) => {
    const path = directory()
    const spool = await open(path, { durability })
    const names = ids(250)
    const answers = names.map((id) => log(spool, id))
    if (durability === 'database') expect(await drainedIds(spool)).toEqual([])
    await new Promise((resolve) => setImmediate(resolve))
    if (durability !== 'database') await Promise.all(answers)
    const next = await open(killedCopy(path), { durability })
    expect(await drainedIds(next)).toEqual(names)
    if (durability === 'database') expect(await drainedIds(spool)).toEqual(names)
    await Promise.all(answers)
  },
)

// An answer that leaves before its record can be lost with it.
test('no answer comes before its record is on the disk', async () => {
  const path = directory()
  const spool = await open(path)
  const answer = log(spool, 'req_first').then(() =>
    readFileSync(segmentFiles(path)[0] ?? '', 'utf8'),
  )
  expect(segmentFiles(path)).toEqual([])
  expect(await answer).toContain('req_first')
})

test('in mode database an answer waits for the acknowledgement, and is woken for', async () => {
  const spool = await open(directory(), { durability: 'database' })
  let isAnswered = false
  const woken = new Promise<void>((resolve) => spool.onAppend(resolve))
  const answer = log(spool, 'req_1').then(() => {
    isAnswered = true
  })
  await woken
  const { records, token } = await spool.readBatch(10, 1_000)
  expect(records).toHaveLength(1)
  expect(isAnswered).toBe(false)
  await spool.acknowledge(token)
  await answer
})

test('in mode database a quarantined record is not answered as if it was committed', async () => {
  const path = directory()
  const spool = await open(path, { durability: 'database' })
  const answers = ['req_bad', 'req_good'].map((id) => formatRefusal(() => log(spool, id)))
  await new Promise((resolve) => setImmediate(resolve))
  const { records, token } = await spool.readBatch(10, 10_000)
  for (const record of records) {
    if (record.requestId === 'req_bad') await spool.quarantine([record], 'refused by a test')
  }
  await spool.acknowledge(token)
  expect(await Promise.all(answers)).toEqual(['unavailable', 'none'])
  const kept = readFileSync(join(path, 'rejected', 'req_bad.rejected'), 'utf8')
  expect(kept).toContain('refused by a test')
  expect(kept).toContain('req_bad')
})

// The drain may fail between reading and committing, as often as it likes.
test('a batch is the same until it is acknowledged, and then gone', async () => {
  const spool = await open(directory())
  await Promise.all(ids(5).map((id) => log(spool, id)))
  const first = await spool.readBatch(2, 10_000)
  expect(await spool.readBatch(2, 10_000)).toEqual(first)
  expect(first.records.map(({ requestId }) => requestId)).toEqual(ids(2))
  expect(spool.stats.records).toBe(5)
  await spool.acknowledge(first.token)
  expect(spool.stats.records).toBe(3)
  expect(await drainedIds(spool)).toEqual(ids(5).slice(2))
  expect(spool.stats).toMatchObject({ records: 0, oldestAgeMs: null })
  expect((await spool.readBatch(2, 10_000)).records).toEqual([])
})

test('records larger than the bytes asked for are given, one by one', async () => {
  const spool = await open(directory())
  await Promise.all(ids(3).map((id) => log(spool, id)))
  const { records } = await spool.readBatch(10, 1)
  expect(records).toHaveLength(1)
  expect(await drainedIds(spool)).toEqual(ids(3))
})

test('the next process drains the records of those before it, oldest first, then its own', async () => {
  const path = directory()
  const first = await openSpool(path)
  await log(first, 'req_1')
  await first.close()
  const second = await openSpool(path)
  await log(second, 'req_2')
  await second.close()
  const third = await open(path)
  await log(third, 'req_3')
  expect(third.stats.records).toBe(3)
  expect(await drainedIds(third)).toEqual(['req_1', 'req_2', 'req_3'])
  expect(readdirSync(path).filter((name) => !OF_ALL.includes(name))).toHaveLength(1)
})

test('the records of a process that is alive are left to it', async () => {
  const path = directory()
  const one = await open(path)
  await log(one, 'req_of_one')
  const other = await open(path)
  expect(await drainedIds(other)).toEqual([])
  expect(await drainedIds(one)).toEqual(['req_of_one'])
})

test('an empty spool leaves no directory behind', async () => {
  const path = directory()
  const spool = await openSpool(path)
  await Promise.all(ids(10).map((id) => log(spool, id)))
  await drain(spool)
  await spool.close()
  expect(readdirSync(path)).toEqual(OF_ALL)
})

// Killed between commit and cursor, the drain reads records again; it must not read all of them
// again.
test('what was acknowledged before a kill is not read again', async () => {
  const path = directory()
  const spool = await open(path)
  await Promise.all(ids(4).map((id) => log(spool, id)))
  await spool.acknowledge((await spool.readBatch(3, 10_000)).token)
  const next = await open(killedCopy(path))
  expect(await drainedIds(next)).toEqual(['req_3'])
})

test('a cursor that is damaged costs a second reading, not a record', async () => {
  const path = directory()
  const spool = await open(path)
  await Promise.all(ids(4).map((id) => log(spool, id)))
  await spool.acknowledge((await spool.readBatch(3, 10_000)).token)
  const copy = killedCopy(path)
  const [name = ''] = readdirSync(copy)
  writeFileSync(join(copy, name, 'cursor'), 'no cursor')
  expect(await drainedIds(await open(copy))).toEqual(ids(4))
})

test('a torn tail is cut off at the start, kept aside, and costs nothing else', async () => {
  const path = directory()
  const spool = await open(path)
  for (const id of ids(3)) await log(spool, id)
  const copy = killedCopy(path)
  const [file = ''] = segmentFiles(copy)
  truncateSync(file, statSync(file).size - 5)
  const events: string[] = []
  const next = await open(copy, { warn: (_facts, text) => events.push(text) })
  expect(await drain(next)).toMatchObject({ records: [{}, {}], rejected: [] })
  expect(events.join()).toContain('cut off')
  expect(readdirSync(join(copy, 'rejected'))).toHaveLength(1)
})

test('damage within a segment is quarantined and reported, and the records after it are drained', async () => {
  const path = directory()
  const spool = await open(path)
  for (const id of ids(3)) await log(spool, id)
  const copy = killedCopy(path)
  const [file = ''] = segmentFiles(copy)
  const bytes = readFileSync(file)
  bytes[bytes.indexOf('req_1')] = 0x58
  writeFileSync(file, bytes)
  const next = await open(copy)
  const { records, rejected } = await drain(next)
  expect(records.map(({ requestId }) => requestId)).toEqual(['req_0', 'req_2'])
  expect(rejected).toEqual(['the spool is damaged here'])
  const [name = ''] = readdirSync(join(copy, 'rejected'))
  expect(readFileSync(join(copy, 'rejected', name), 'utf8')).toContain('Xeq_1')
})

// A full spool that took more would fill the disk; one that dropped would lose answers.
test('at its bound it refuses before scoring, keeps what it has, and goes on when drained', async () => {
  const spool = await open(directory(), { bytesMax: 20_000 })
  const answered: string[] = []
  for (const id of ids(200)) {
    if ((await formatRefusal(() => log(spool, id))) === 'none') answered.push(id)
  }
  expect(answered.length).toBeGreaterThan(10)
  expect(answered.length).toBeLessThan(200)
  expect(spool.stats.bytes).toBeLessThan(20_000 + 1_000)
  expect(await formatRefusal(() => log(spool, 'req_refused'))).toBe('unavailable')
  expect(await drainedIds(spool)).toEqual(answered)
  expect(await formatRefusal(() => log(spool, 'req_later'))).toBe('none')
  expect(await drainedIds(spool)).toEqual(['req_later'])
})

test('segments are removed as they are drained', async () => {
  const path = directory()
  const spool = await open(path, { bytesMax: 40_000 })
  for (const id of ids(150)) await log(spool, id)
  const before = segmentFiles(path).length
  expect(before).toBeGreaterThan(2)
  expect(await drainedIds(spool)).toEqual(ids(150))
  expect(segmentFiles(path).length).toBeLessThan(2)
})

test('a directory that the system refuses to make stops the opening with a sentence that names it', async () => {
  const path = directory()
  writeFileSync(path, 'a file')
  const opening = openSpool(path)
  await expect(opening).rejects.toThrow(SpoolOpenError)
  await expect(opening).rejects.toThrow(path)
  expect(existsSync(path)).toBe(true)
})
