import {
  appendFileSync,
  copyFileSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { listSetAside } from '../../../src/log/drain/set-aside.ts'
import { FOREIGN } from '../../../src/log/spool/open-papers.ts'
import type { Spool, SpoolOptions } from '../../../src/log/spool/spool.ts'
import { HEAD_BYTES } from '../../../src/log/spool/spool-papers.ts'
import {
  drainedIds,
  killedCopy,
  log,
  newSpoolDir,
  openSpool,
} from '../../support/score-log/spools.ts'

const RECORDS = 200
const DRAINED = 60
/** Bound of a spool with several segments. */
const SMALL = 80_000
const KEPT = { keepMs: 900_000 }
/** Flips and cuts of each kind of file, at random places. */
const ROUNDS = 8

const ids = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, n) => `req_${String(from + n).padStart(5, '0')}`)

const spools: Spool[] = []
const removals: (() => void)[] = []
afterEach(async () => {
  for (const spool of spools.splice(0)) await spool.close()
  for (const remove of removals.splice(0)) remove()
})

type Report = SpoolOptions['warn']

interface Fault {
  readonly text: string
  readonly facts: Readonly<Record<string, unknown>>
}

/** What a killed process has left, and where the database is in it. */
async function leftBehind(bytesMax = 1024 ** 3) {
  const { path, remove } = newSpoolDir()
  removals.push(remove)
  const spool = await openSpool(path, { ...KEPT, bytesMax })
  spools.push(spool)
  for (const id of ids(0, RECORDS)) await log(spool, id)
  const { records, token } = await spool.readBatch(DRAINED, 1e6)
  expect(records).toHaveLength(DRAINED)
  await spool.acknowledge(token)
  const [entry] = spool.positions()
  if (entry === undefined) throw new Error('the spool has no position')
  const [identity, cursor] = entry
  const copy = killedCopy(path)
  const [name = ''] = readdirSync(copy).filter((one) => one.includes('-'))
  return { path: copy, directory: join(copy, name), identity, cursor }
}

/** The next process, once it has asked the database where it is. */
async function reopened({ path, identity, cursor }: Awaited<ReturnType<typeof leftBehind>>) {
  const faults: Fault[] = []
  const fail = (facts: Fault['facts'], text: string) => void faults.push({ facts, text })
  const spool = await openSpool(path, { ...KEPT, fail })
  spools.push(spool)
  // As the drain does: the database has no position of a spool that it does not know.
  for (const [id, position] of spool.positions()) {
    const stored = id === identity ? cursor : { segment: 0, offset: 0 }
    if (JSON.stringify(stored) !== JSON.stringify(position)) await spool.follow(id, stored)
  }
  return { spool, faults }
}

/** The same place and bit for the same round, so that a failure can be repeated. */
function flip(file: string, round: number): void {
  const bytes = readFileSync(file)
  const at = (round * 7_919) % bytes.length
  bytes[at] = (bytes[at] ?? 0) ^ (1 << (round % 8))
  writeFileSync(file, bytes)
}

function cut(file: string, round: number): void {
  const { length } = readFileSync(file)
  truncateSync(file, (round * 6_007) % length)
}

const CHANGES = { flipped: flip, 'cut off': cut, deleted: (file: string) => rmSync(file) }
const rounds = Array.from({ length: ROUNDS }, (_, round) => round + 1)

// Each record of the last minutes would be in the log twice, statistics and proofs included.
describe.each(Object.entries(CHANGES))('%s', (_, change) => {
  test.each(rounds)('an identity is restored, and nothing is drained twice (%i)', async (round) => {
    const left = await leftBehind()
    change(join(left.directory, 'identity'), round)
    const { spool, faults } = await reopened(left)
    expect(await drainedIds(spool)).toEqual(ids(DRAINED, RECORDS))
    expect([...spool.positions().keys()]).toContain(left.identity)
    expect(faults.map(({ text }) => text)).toEqual([
      'the identity of a spool was damaged, and is restored from its other files',
    ])
    expect(spool.faults.damages).toEqual({ identity: 1, cursor: 0, head: 0, lost: 0 })
  })

  test.each(rounds)('a cursor is made anew where the database is (%i)', async (round) => {
    const left = await leftBehind()
    change(join(left.directory, 'cursor'), round)
    const { spool, faults } = await reopened(left)
    expect(await drainedIds(spool)).toEqual(ids(DRAINED, RECORDS))
    expect(spool.faults.damages).toEqual({ identity: 0, cursor: 1, head: 0, lost: 0 })
    expect(faults).toHaveLength(1)
  })
})

// The place of another spool would pass over records, or store others a second time.
test.each([
  ['cursor', ['cursor']],
  ['identity and cursor', ['identity', 'cursor']],
])('%s of another spool: each record is drained once, under its own identity', async (_, files) => {
  const [left, other] = [await leftBehind(), await leftBehind()]
  for (const file of files) copyFileSync(join(other.directory, file), join(left.directory, file))
  const { spool } = await reopened(left)
  expect(await drainedIds(spool)).toEqual(ids(DRAINED, RECORDS))
  expect([...spool.positions().keys()]).toContain(left.identity)
  const identity = files.length - 1
  expect(spool.faults.damages).toEqual({ identity, cursor: 1, head: 0, lost: 0 })
})

const listSegments = (directory: string) =>
  readdirSync(directory)
    .filter((name) => name.endsWith('.seg'))
    .sort()
    .map((name) => join(directory, name))

// An operator brings what a lost replica had. The database knows by the name of a spool how far it
// is drained: drained with the records of another one, the segment would be stored a second time.
test.each([
  ['its own number', (name: string) => name],
  ['another number', () => '00000099.seg'],
])('a segment of another spool under %s is set aside whole, and not drained', async (_, rename) => {
  const [left, other] = [await leftBehind(), await leftBehind(SMALL)]
  const foreign = listSegments(other.directory).at(-1) ?? ''
  copyFileSync(foreign, join(left.directory, rename(basename(foreign))))
  const { spool, faults } = await reopened(left)
  expect(await drainedIds(spool)).toEqual(ids(DRAINED, RECORDS))
  expect([...spool.positions().keys()]).toContain(left.identity)
  expect(faults.map(({ text }) => text)).toEqual([FOREIGN])
  expect(spool.faults.damages).toEqual({ identity: 0, cursor: 0, head: 0, lost: 0 })
  const [file, ...others] = listSetAside(join(left.path, 'rejected'))
  expect(others).toEqual([])
  expect(file).toMatchObject({ reason: FOREIGN, fault: null })
  expect(file?.payload).toEqual(readFileSync(foreign).subarray(HEAD_BYTES))
})

test.each(rounds)(
  'a flipped bit of a segment costs the record that it is in (%i)',
  async (round) => {
    const left = await leftBehind()
    const [segment = ''] = listSegments(left.directory)
    flip(segment, round * 31)
    const { spool, faults } = await reopened(left)
    const drained = await drainedIds(spool)
    expect(drained.length).toBeGreaterThanOrEqual(RECORDS - DRAINED - 1)
    expect(new Set(drained).size).toBe(drained.length)
    // A bit of a drained record harms nobody.
    if (drained.length < RECORDS - DRAINED) expect(faults.length).toBeGreaterThan(0)
  },
)

test('a damaged head of a segment costs no record', async () => {
  const left = await leftBehind()
  const [segment = ''] = listSegments(left.directory)
  const bytes = readFileSync(segment)
  bytes[20] = (bytes[20] ?? 0) ^ 1
  writeFileSync(segment, bytes)
  const { spool } = await reopened(left)
  expect(await drainedIds(spool)).toEqual(ids(DRAINED, RECORDS))
  expect(spool.faults.damages).toEqual({ identity: 0, cursor: 0, head: 1, lost: 0 })
})

const LOST = 'records of answered scores were taken from a spool before they were drained'

// The only word of answered scores that are gone.
test.each([
  ['emptied', (file: string) => truncateSync(file, 0)],
  ['shortened', (file: string) => truncateSync(file, readFileSync(file).length - 3_000)],
  ['deleted', (file: string) => rmSync(file)],
])('a segment that was %s before it was drained is named and counted', async (_, change) => {
  // Small segments: there are several, and the first ones are closed.
  const left = await leftBehind(SMALL)
  const segments = listSegments(left.directory)
  expect(segments.length).toBeGreaterThan(2)
  const victim = segments.at(-2) ?? ''
  change(victim)
  const { spool, faults } = await reopened(left)
  const number = Number(/(\d+)\.seg$/.exec(victim)?.[1])
  expect(faults.filter(({ text }) => text === LOST)).toMatchObject([{ facts: { segment: number } }])
  expect(spool.faults.damages.lost).toBe(1)
  const drained = await drainedIds(spool)
  expect(drained.length).toBeLessThan(RECORDS - DRAINED)
  expect(drained.at(-1)).toBe(ids(0, RECORDS).at(-1))
})

const NOT_DRAINED = 50
const emptied = (file: string) => truncateSync(file, 0)
const beheaded = (file: string) => truncateSync(file, HEAD_BYTES)
const EMPTIED = [
  ['to nothing', emptied],
  ['to its head', beheaded],
  ['and then deleted', (file: string) => rmSync(file)],
] as const

/** A spool with records that the database has, if any, and 50 that it has not. */
async function undrained(drained: number, report: Report = () => undefined) {
  const { path, remove } = newSpoolDir()
  removals.push(remove)
  const spool = await openSpool(path, { ...KEPT, fail: report })
  spools.push(spool)
  for (const id of ids(0, drained)) await log(spool, id)
  expect(await drainedIds(spool)).toHaveLength(drained)
  for (const id of ids(drained, drained + NOT_DRAINED)) await log(spool, id)
  return { path, spool }
}

const onlySegment = (path: string) => {
  const [name = ''] = readdirSync(path).filter((one) => one.includes('-'))
  const [segment = '', ...others] = listSegments(join(path, name))
  expect(others).toEqual([])
  return segment
}

// Until a first drain, nothing said that the only segment of a spool had had a record.
describe.each([0, 10])('the only segment of a spool with %i drained records', (drained) => {
  test.each(EMPTIED)(
    'emptied %s while no process runs, is named and counted',
    async (_, change) => {
      const copy = killedCopy((await undrained(drained)).path)
      change(onlySegment(copy))
      const facts: unknown[] = []
      const spool = await openSpool(copy, {
        ...KEPT,
        fail: (one, text) => facts.push({ ...one, text }),
      })
      spools.push(spool)
      expect(facts).toMatchObject([{ segment: 1, text: LOST }])
      expect(spool.faults.damages).toEqual({ identity: 0, cursor: 0, head: 0, lost: 1 })
    },
  )

  test.each(EMPTIED.slice(0, 2))('emptied %s below its process, the same', async (_, change) => {
    const facts: unknown[] = []
    const { path, spool } = await undrained(drained, (one, text) => facts.push({ ...one, text }))
    change(onlySegment(path))
    expect(await drainedIds(spool)).toEqual([])
    expect(facts).toMatchObject([{ segment: 1, text: LOST }])
    expect(spool.faults.damages.lost).toBe(1)
    await log(spool, 'req_00099')
    expect(await drainedIds(spool)).toEqual(['req_00099'])
  })
})

test('a spool that was killed at any other time says nothing', async () => {
  const { spool, faults } = await reopened(await leftBehind(SMALL))
  expect(await drainedIds(spool)).toEqual(ids(DRAINED, RECORDS))
  expect(faults).toEqual([])
})

test('what a start has cut off is not missed by the next one', async () => {
  const left = await leftBehind(SMALL)
  const last =
    readdirSync(left.directory)
      .toSorted()
      .findLast((name) => name.endsWith('.seg')) ?? ''
  // A process that was killed amid a write.
  const file = join(left.directory, last ?? '')
  appendFileSync(file, readFileSync(file).subarray(HEAD_BYTES, HEAD_BYTES + 40))
  // It ends before it has asked the database for its place.
  spools.push(await openSpool(left.path, KEPT))
  const next = await reopened({ ...left, path: killedCopy(left.path) })
  expect(await drainedIds(next.spool)).toEqual(ids(DRAINED, RECORDS))
  expect(next.spool.faults.damages.lost).toBe(0)
})
