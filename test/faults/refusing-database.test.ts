import { setTimeout as delay } from 'node:timers/promises'
import postgres from 'postgres'
import { describe, expect, onTestFinished, test } from 'vitest'
import { hasPostgresServer, PostgresServer } from '../support/servers/postgres-server.ts'
import { post } from '../support/start/process.ts'
import { readMetric, startWithSample } from '../support/start/running.ts'

const TTL_MS = 1_000
const REFUSED_MS = 9_000

interface Refused {
  readonly statuses: Map<number, number>
  readonly logged: string[]
  readonly ready: { status: number; body: { checks: Record<string, string> } }
  readonly awaySec: number
  readonly metrics: string
}

/** PostgreSQL with a role of the service, which has to name its password. */
async function startServer() {
  const server = await PostgresServer.start()
  onTestFinished(() => server.drop())
  const admin = postgres(server.url, { max: 1, onnotice: () => {} })
  onTestFinished(() => admin.end())
  await admin`create role scoreline login superuser password 'right'`
  await server.askPassword('scoreline')
  const end = () => admin`select pg_terminate_backend(pid) from pg_stat_activity
    where usename = 'scoreline'`
  const url = `postgres://scoreline:right@127.0.0.1:${server.port}/postgres`
  return { server, admin, end, url }
}

async function startService(databaseUrl: string) {
  return startWithSample(
    {
      DATABASE_URL: databaseUrl,
      JWT_SECRET: 'secret of the tests, long enough',
      SPEC_CACHE_TTL_SECONDS: String(TTL_MS / 1_000),
    },
    onTestFinished,
  )
}

type Service = Awaited<ReturnType<typeof startService>>

async function statusOfScore({ endpoint, key }: Service): Promise<number> {
  return (await post(endpoint, { income: 1 }, key)).status
}

async function readReady({ url }: Service): Promise<Refused['ready']> {
  const response = await fetch(`${url}/readyz`)
  return { status: response.status, body: (await response.json()) as Refused['ready']['body'] }
}

/** Scores for longer than anything in memory is trusted. */
async function scoreWhileRefused(service: Service): Promise<Refused> {
  const statuses = new Map<number, number>()
  const alreadyPrinted = service.process.stdout.length
  const untilMs = performance.now() + REFUSED_MS
  while (performance.now() < untilMs) {
    const status = await statusOfScore(service)
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    await delay(10)
  }
  return {
    statuses,
    // A machine that is busy with other things may make any request slow.
    logged: service.process.stdout
      .slice(alreadyPrinted)
      .trim()
      .split('\n')
      .filter((line) => !line.includes('"slow request"')),
    ready: await readReady(service),
    awaySec: await readMetric(service.url, 'scoreline_database_away_seconds'),
    metrics: await (await fetch(`${service.url}/metrics`)).text(),
  }
}

describe.skipIf(!hasPostgresServer)('a PostgreSQL that refuses', () => {
  test('the login is bridged from memory, named by probe, metric and log, and heals', async () => {
    const { admin, end, url } = await startServer()
    const service = await startService(url)
    expect(await statusOfScore(service)).toBe(200)
    await admin`alter role scoreline password 'wrong'`
    await end()

    const { statuses, logged, ready, awaySec, metrics } = await scoreWhileRefused(service)
    expect([...statuses.keys()], 'scores of a known deployment').toEqual([200])
    expect(ready.status).toBe(200)
    expect(ready.body.checks['database']).toMatch(/^away \d+ s \(28P01\), serving from memory$/)
    expect(awaySec).toBeGreaterThan(REFUSED_MS / 2_000)
    expect(metrics).toMatch(/scoreline_database_refused_seconds\{code="28P01"\} [1-9]/)
    expect(logged.length, logged.join('\n')).toBeLessThan(12)
    expect(logged.join('\n')).toContain('28P01')
    expect(logged.join('\n').length).toBeLessThan(8_000)

    await admin`alter role scoreline password 'right'`
    const isWell = async () => (await readReady(service)).body.checks['database']
    await expect.poll(isWell).toBe('ok')
    // Other connections than that of the probe may still have to be opened.
    const create = () => post(`${service.url}/v1/keys`, { name: 'another' }, service.token)
    await expect.poll(async () => (await create()).status).toBe(201)
    expect(await readMetric(service.url, 'scoreline_database_away_seconds')).toBe(0)
    expect(await (await fetch(`${service.url}/metrics`)).text()).not.toMatch(
      /scoreline_database_refused_seconds\{code="28P01"/,
    )
  })

  test.each([
    ['a right', 'revoke', 'grant', '42501'],
    ['a table', 'rename', 'restore', '42P01'],
  ])('%s of one table alone is bridged and named', async (_what, taken, given, code) => {
    const statements: Record<string, string> = {
      revoke: 'revoke select on api_keys from scoreline',
      grant: 'grant select on api_keys to scoreline',
      rename: 'alter table api_keys rename to api_keys_hidden',
      restore: 'alter table api_keys_hidden rename to api_keys',
    }
    const { admin, url } = await startServer()
    const service = await startService(url)
    expect(await statusOfScore(service)).toBe(200)
    await admin`alter role scoreline nosuperuser`
    await admin.unsafe(statements[taken] ?? '')

    const { statuses, ready, metrics } = await scoreWhileRefused(service)
    expect([...statuses.keys()], 'scores of a known deployment').toEqual([200])
    expect(ready.body.checks['database']).toContain(code)
    expect(metrics).toMatch(new RegExp(`database_refused_seconds\\{code="${code}"\\} [1-9]`))

    await admin.unsafe(statements[given] ?? '')
    const isWell = async () => {
      await statusOfScore(service)
      return (await readReady(service)).body.checks['database']
    }
    await expect.poll(isWell).toBe('ok')
  })

  test('a database that is gone is bridged and named', async () => {
    const { admin, url } = await startServer()
    await admin`create database lender owner scoreline`
    const service = await startService(url.replace(/postgres$/, 'lender'))
    expect(await statusOfScore(service)).toBe(200)
    await admin`drop database lender with (force)`
    const { statuses, ready } = await scoreWhileRefused(service)
    expect([...statuses.keys()]).toEqual([200])
    expect(ready.body.checks['database']).toContain('3D000')
  })

  test('a PostgreSQL that is stopped makes a few short lines of the log, and no job fails', async () => {
    const { server, url } = await startServer()
    const service = await startService(url)
    expect(await statusOfScore(service)).toBe(200)
    await server.stop()
    const { statuses, logged, ready } = await scoreWhileRefused(service)
    expect([...statuses.keys()]).toEqual([200])
    expect(ready.body.checks['database']).toContain('serving from memory')
    expect(logged.length, logged.join('\n')).toBeLessThan(12)
    expect(logged.join('\n')).not.toMatch(/a job failed|"frames"/)
  })
})
