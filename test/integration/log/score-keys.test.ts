import { randomBytes } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { describe, expect, onTestFinished, test } from 'vitest'
import { DeadLetters } from '../../../src/log/drain/dead-letters.ts'
import { listSetAside, restoreSetAside } from '../../../src/log/drain/set-aside.ts'
import { ScoreLogStore } from '../../../src/log/drain/store.ts'
import type { RecordV4 } from '../../../src/log/record/record-v4.ts'
import type { KeyOfRequest } from '../../../src/log/score-keys/key-rows.ts'
import { ScoreKeyStore } from '../../../src/log/score-keys/store.ts'
import { type Database, queryRows } from '../../../src/platform/db/client.ts'
import { newId } from '../../../src/platform/ids.ts'
import { type RecordOrder, scoreRecord } from '../../support/score-log/records.ts'
import { newSpoolDir } from '../../support/score-log/spools.ts'
import { backends, hasPostgres, postgres } from '../../support/start/databases.ts'
import { databaseForTest } from '../../support/start/seeded-database.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000

/** A drained request, `ageMs` old, with a key of its own unless it is given. */
function keyed(ageMs = 0, order: RecordOrder = {}): RecordV4 {
  const scoredAtMs = Date.now() - ageMs
  return scoreRecord({ scoredAtMs, key: randomBytes(24), ...order })
}

const keyHash = ({ key }: RecordV4) => key?.keyHash ?? Buffer.alloc(0)

const toHex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

const foundOf = ({ key, requestId }: RecordV4) => ({ bodyHash: key?.bodyHash, requestId })

async function countRows(db: Database): Promise<number> {
  const rows = await queryRows<{ n: number }>(
    db,
    sql`select count(*)::integer as n from score_keys`,
  )
  return rows[0]?.n ?? 0
}

async function listAll(keys: ScoreKeyStore): Promise<readonly KeyOfRequest[]> {
  const all: KeyOfRequest[] = []
  for await (const page of keys.pages()) all.push(...page)
  return all
}

describe.each(backends)('on $name', (backend) => {
  async function open() {
    const { db } = await databaseForTest(backend)
    return { db, log: new ScoreLogStore(db), keys: new ScoreKeyStore(db) }
  }

  test('a drained single score is found by its key, and another key finds none', async () => {
    const { db, log, keys } = await open()
    const records = Array.from({ length: 300 }, (_, n) => keyed(n * MINUTE_MS))
    await log.append([...records, scoreRecord({ scoredAtMs: Date.now() })])
    const asked = await Promise.all(records.map((record) => keys.find(keyHash(record))))
    expect(asked).toEqual(records.map(foundOf))
    const near = Buffer.from(keyHash(records[0] ?? keyed()))
    near[15] = (near[15] ?? 0) ^ 1
    expect(await keys.find(near)).toBeNull()
    expect(await keys.find(randomBytes(16))).toBeNull()
    expect(await countRows(db)).toBe(300)
  })

  test('keys and bodies of any bits, and ids of any text, come back', async () => {
    const { log, keys } = await open()
    const bits = [0, 0x7f, 0x80, 0xff].map((byte) => keyed(0, { key: Buffer.alloc(24, byte) }))
    const ids = ['req_1', 'é "\\{}', 'NUL \0', `${newId('req_', 1).slice(0, -1)}-`]
    const named = ids.map((requestId) => keyed(0, { requestId }))
    const records = [...bits, ...named, keyed()]
    await log.append(records)
    const asked = await Promise.all(records.map((record) => keys.find(keyHash(record))))
    expect(asked).toEqual(records.map(foundOf))
  })

  // Pages of the database are read together: each part of a table has to come once.
  test('the hashes of all keys of a day come as pages, and those of no other', async () => {
    const { log, keys } = await open()
    const records = Array.from({ length: 9_000 }, () => keyed())
    await log.append([...records, keyed(2 * DAY_MS)])
    const pages: Uint8Array[] = []
    for await (const page of keys.hashPages()) pages.push(page)
    const all = Buffer.concat(pages).toString('hex').match(/.{16}/g)?.sort()
    const expected = records.map((one) => keyHash(one).subarray(0, 8)).map(toHex)
    expect(all).toEqual(expected.sort())
    expect(pages.length).toBeGreaterThan(1)
  })

  test('of several requests with a key the newest is found', async () => {
    const { log, keys } = await open()
    const key = randomBytes(24)
    const [older, newest, old] = [HOUR_MS, MINUTE_MS, 2 * HOUR_MS].map((age) => keyed(age, { key }))
    for (const record of [older, newest, old]) if (record !== undefined) await log.append([record])
    expect(await keys.find(key.subarray(0, 16))).toEqual(foundOf(newest ?? keyed()))
  })

  test('a request older than a day is not found, and one that is drained late has no row', async () => {
    const { db, log, keys } = await open()
    const [young, late] = [keyed(DAY_MS - MINUTE_MS), keyed(DAY_MS + MINUTE_MS)]
    const lateWithoutTime = keyed(DAY_MS + MINUTE_MS, { requestId: 'req_late' })
    await log.append([young, late, lateWithoutTime])
    expect(await countRows(db)).toBe(1)
    expect(await keys.find(keyHash(young))).toEqual(foundOf(young))
    expect(await keys.find(keyHash(late))).toBeNull()
    // As if two minutes had passed.
    await db.execute(
      sql`update score_keys set request_high = request_high - (120000::bigint << 22)`,
    )
    expect(await keys.find(keyHash(young))).toBeNull()
    expect(await listAll(keys)).toEqual([])
  })

  test('pages hold each key of the last day, and one that was written twice twice', async () => {
    const { log, keys } = await open()
    const records = Array.from({ length: 9_000 }, (_, n) => keyed(n))
    await log.append(records)
    await log.append(records.slice(0, 1))
    const sizes: number[] = []
    const found = new Map<string, number>()
    for await (const page of keys.pages()) {
      sizes.push(page.length)
      for (const key of page) {
        const name = JSON.stringify([[...key.keyHash], [...key.bodyHash], key.requestId])
        found.set(name, (found.get(name) ?? 0) + 1)
      }
    }
    const names = records.map(({ key, requestId }) =>
      JSON.stringify([[...(key?.keyHash ?? [])], [...(key?.bodyHash ?? [])], requestId]),
    )
    expect([...found.keys()].toSorted()).toEqual(names.toSorted())
    expect([...found.values()].filter((times) => times > 1)).toEqual([2])
    expect(Math.max(...sizes)).toBeLessThan(5_000)
    expect(sizes.length).toBeGreaterThan(2)
  })

  test('a key stays for 25 hours after it was written, and goes at an hour after midnight', async () => {
    const { db, log, keys } = await open()
    await log.append([keyed()])
    const [row] = await queryRows<{ now_ms: number }>(
      db,
      sql`select (extract(epoch from now()) * 1000)::float8 as now_ms`,
    )
    const nowMs = row?.now_ms ?? Number.NaN
    const dayMs = nowMs - (nowMs % DAY_MS)
    for (const hours of [-24, 0, 1, 12, 23, 23.99, 24, 25, 36, 47, 47.99, 48, 48.99]) {
      await keys.removeExpired(dayMs + hours * HOUR_MS)
      expect([hours, await countRows(db)]).toEqual([hours, 1])
    }
    // Then a replica may write to it already.
    await keys.removeExpired(dayMs + 71.5 * HOUR_MS)
    expect(await countRows(db)).toBe(1)
    await keys.removeExpired(dayMs + 49 * HOUR_MS)
    expect(await countRows(db)).toBe(0)
  })

  test('a batch that is stored again, as after a failover, keeps its keys found', async () => {
    const { db, log, keys } = await open()
    const record = keyed()
    await log.append([record])
    await log.append([record])
    expect(await countRows(db)).toBe(2)
    expect(await keys.find(keyHash(record))).toEqual(foundOf(record))
  })

  test('a batch whose transaction fails leaves no key', async () => {
    const { db, log, keys } = await open()
    const position = (offset: number) => ({
      spoolId: 'spool',
      from: { segment: 1, offset },
      to: { segment: 1, offset: offset + 1 },
    })
    const record = keyed()
    await expect(log.append([record], position(7))).rejects.toThrow('another position')
    await expect(log.probe([record])).resolves.toBeUndefined()
    expect(await countRows(db)).toBe(0)
    expect(await keys.find(keyHash(record))).toBeNull()
  })

  test('a record that was set aside has its key again once it is restored', async () => {
    const { log, keys } = await open()
    const directory = newSpoolDir()
    onTestFinished(() => directory.remove())
    const record = keyed()
    new DeadLetters(directory.path).storeRecords([record], 'a test')
    const [aside] = listSetAside(directory.path)
    expect(aside?.records.map(({ key }) => key)).toEqual([record.key])
    if (aside === undefined) return
    expect(await restoreSetAside(aside, log, { find: async () => null })).toBe(1)
    expect(await keys.find(keyHash(record))).toEqual(foundOf(record))
  })
})

// A backup reads all tables for hours: whoever waits for it makes all later ones wait.
test.skipIf(!hasPostgres)('keys that a backup reads are removed after it', async () => {
  const handle = await databaseForTest(postgres)
  const { db } = handle
  const keys = new ScoreKeyStore(db)
  await new ScoreLogStore(db).append([keyed()])
  const dayMs = Date.now() - (Date.now() % DAY_MS)
  const backup = handle.apart(1)
  onTestFinished(() => backup.close())
  await backup.db.transaction(async (tx) => {
    await tx.execute(sql`lock table score_keys in access share mode`)
    const startedAtMs = performance.now()
    await keys.removeExpired(dayMs + 50 * HOUR_MS)
    expect(performance.now() - startedAtMs).toBeLessThan(2_000)
    expect(await countRows(db)).toBe(1)
  })
  await keys.removeExpired(dayMs + 50 * HOUR_MS)
  expect(await countRows(db)).toBe(0)
})
