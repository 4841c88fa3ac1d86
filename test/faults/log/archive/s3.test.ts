import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../../../src/platform/clock.ts'
import { guardStore } from '../../../../src/platform/db/guard.ts'
import { DatabaseHealth } from '../../../../src/platform/db/health.ts'
import { ArchivedLog, listRequests, logged } from '../../../support/archive/archived-log.ts'
import { S3Server } from '../../../support/servers/s3-server.ts'
import { firstBackend } from '../../../support/start/databases.ts'

const CREDENTIALS = { AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' }
const RECORDS = Array.from({ length: 30 }, (_, n) => logged(n * 1_000))
const FILE = 'scores/dt=2026-10-05/part-00000-g1.parquet'
const before = { ...process.env }

let server: S3Server
let log: ArchivedLog

beforeEach(async () => {
  Object.assign(process.env, CREDENTIALS)
  server = await S3Server.start()
  log = await ArchivedLog.forTest(firstBackend, RECORDS)
})
afterEach(async () => {
  for (const name of Object.keys(CREDENTIALS)) {
    if (before[name] === undefined) delete process.env[name]
    else process.env[name] = before[name]
  }
  await server.close()
})

const inBucket = () => ({ url: 's3://bucket/scores', endpoint: server.endpoint })
const requests = () => log.reading(listRequests, true, inBucket())

// An answer that was lost, or that says that somebody else writes, must not make a second file.
test('a day goes to a bucket whose server fails now and then, and is read from there', async () => {
  const answered = await requests()
  server.fail({ method: 'PUT', status: 500, times: 1 })
  server.fail({ method: 'PUT', status: 0, times: 2 })
  server.fail({ method: 'PUT', status: 409, code: 'ConditionalRequestConflict', times: 1 })
  server.fail({ method: 'HEAD', status: 503, code: 'SlowDown', times: 1 })
  server.fail({ method: 'GET', status: 500, times: 1 })
  expect(await log.round(inBucket())).toBe(true)
  expect([...server.objects.keys()].sort()).toEqual([
    'scores/_archive.json',
    'scores/dt=2026-10-05/_manifest.json',
    FILE,
  ])
  expect(await requests()).toEqual(answered)
})

test('a bucket that fails for long keeps the day in the database', async () => {
  server.fail({ method: 'PUT', status: 403, code: 'AccessDenied', times: 100 })
  expect(await log.round(inBucket())).toBe(false)
  expect(log.lines.map(({ facts }) => facts['reason'])).toEqual([
    'the object store fails: 403 (AccessDenied)',
  ])
  expect(await requests()).toHaveLength(RECORDS.length)
})

// The store may say that it has a file, and have another one.
test('a file that the bucket gives back otherwise keeps the day in the database', async () => {
  server.corrupts = true
  expect(await log.round(inBucket())).toBe(false)
  expect(await log.reading(listRequests, false)).toHaveLength(RECORDS.length)
  server.corrupts = false
  expect(await log.round(inBucket())).toBe(true)
  expect(await requests()).toHaveLength(RECORDS.length)
})

// A replica must not become unready, nor renew its connections, because of a bucket.
test('a bucket that is silent or gone makes reads unavailable, and not the database', async () => {
  await log.round(inBucket())
  const health = new DatabaseHealth(systemClock)
  let overdue = 0
  const guard = { deadlineMs: 3_000, renew: () => overdue++, health }
  const guarded = <Store extends object>(one: Store) => guardStore(one, guard)
  const place = inBucket()
  const reading = () => log.reading(listRequests, true, { ...place, guarded })
  const isAway = { code: 'unavailable', message: expect.stringContaining('archive') }
  server.delayMs = 60_000
  const beganMs = performance.now()
  await expect(reading()).rejects.toMatchObject(isAway)
  expect(performance.now() - beganMs).toBeLessThan(25_000)
  await server.close()
  await expect(reading()).rejects.toMatchObject(isAway)
  expect([overdue, health.calls.away, health.calls.overdue]).toEqual([0, 0, 0])
  expect(health.calls.ok).toBeGreaterThan(0)
})

test('the operator learns that a server ignores conditions', async () => {
  server.options = { ignoresConditions: true }
  const archive = await log.open(inBucket())
  archive.start()
  await expect
    .poll(() => log.lines.map(({ message }) => message))
    .toContain('the store of the archive ignores conditions: it overwrites existing objects')
  await archive.close()
})
