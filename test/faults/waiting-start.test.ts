import { rmSync } from 'node:fs'
import { join } from 'node:path'
import postgres from 'postgres'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { freePort } from '../support/servers/free-port.ts'
import { hasPostgresServer, PostgresServer } from '../support/servers/postgres-server.ts'
import { newDataDir } from '../support/start/databases.ts'
import { post, ServiceProcess } from '../support/start/process.ts'
import { readMetric, startWithSample } from '../support/start/running.ts'

const WAIT_MS = 50_000

describe.skipIf(!hasPostgresServer)('a start while PostgreSQL is away', () => {
  test('waits where a spool is, answers probes, loses no answered score, and heals', async () => {
    const server = await PostgresServer.start()
    onTestFinished(() => server.drop())
    const dataDir = newDataDir()
    onTestFinished(() => rmSync(join(dataDir, '..'), { recursive: true, force: true }))
    const port = await freePort()
    const env = {
      DATABASE_URL: server.url,
      DATA_DIR: dataDir,
      PORT: `${port}`,
      JWT_SECRET: 'secret of the tests, long enough',
    }
    const first = await startWithSample(env, onTestFinished)
    const { url, endpoint, key } = first
    const score = async () => (await post(endpoint, { income: 1 }, key)).status
    expect(await score()).toBe(200)
    await server.stop()
    let answered = 1
    for (let n = 0; n < 20; n++) {
      expect(await score()).toBe(200)
      answered++
    }
    await first.process.stop('SIGKILL')

    const second = ServiceProcess.start(env)
    onTestFinished(async () => void (await second.stop('SIGKILL')))
    await vi.waitFor(async () => expect((await fetch(`${url}/livez`)).status).toBe(200), WAIT_MS)
    const ready = await fetch(`${url}/readyz`)
    expect(ready.status).toBe(503)
    expect(await ready.json()).toEqual({
      status: 'not_ready',
      checks: { database: expect.stringMatching(/^away \d+ s at the start: .+ECONNREFUSED\)$/) },
    })
    expect((await fetch(`${url}/livez`, { method: 'HEAD' })).status).toBe(200)
    expect(await readMetric(url, 'scoreline_database_away_seconds')).toBeGreaterThan(0)
    expect(await readMetric(url, 'scoreline_ready{check="database"}')).toBe(0)
    const refused = await fetch(endpoint, { method: 'POST', body: '{}' })
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5'])
    expect(await refused.json()).toMatchObject({ error: 'unavailable' })
    await second.printed(/the start waits for the database/)

    await server.resume()
    await vi.waitFor(async () => expect(await score()).toBe(200), WAIT_MS)
    answered++
    const sql = postgres(server.url, { max: 1 })
    onTestFinished(() => sql.end())
    await vi.waitFor(async () => {
      const [{ logged } = { logged: 0 }] = await sql`select sum(records)::int as logged
        from score_blocks where superseded_at is null`
      expect(logged).toBe(answered)
    }, WAIT_MS)
    expect(await second.stop('SIGTERM')).toBe(0)

    // A login that is refused passes, too; and a signal ends the wait.
    await sql`create role stranger login password 'right'`
    await server.askPassword('stranger')
    const wrong = { ...env, DATABASE_URL: server.url.replace('postgres@', 'stranger:wrong@') }
    const third = ServiceProcess.start(wrong)
    onTestFinished(async () => void (await third.stop('SIGKILL')))
    await third.printed(/the start waits for the database/)
    const { checks } = (await (await fetch(`${url}/readyz`)).json()) as { checks: object }
    expect(checks).toEqual({ database: expect.stringMatching(/refuses the password \(28P01\)$/) })
    expect(await third.stop('SIGTERM')).toBe(0)
  })

  test('ends with the reason where no service has run before', async () => {
    const dataDir = newDataDir()
    onTestFinished(() => rmSync(join(dataDir, '..'), { recursive: true, force: true }))
    const process = ServiceProcess.start({
      DATABASE_URL: `postgres://postgres@127.0.0.1:${await freePort()}/postgres`,
      DATA_DIR: dataDir,
      JWT_SECRET: 'secret of the tests, long enough',
    })
    expect(await process.exit()).toBe(1)
    expect(process.stderr).toMatch(/the server can't be reached \(ECONNREFUSED\)/)
  })
})
