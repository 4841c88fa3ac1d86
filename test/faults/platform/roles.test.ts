import { setTimeout as delay } from 'node:timers/promises'
import postgres from 'postgres'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { run as admin } from '../../../src/cli/admin.ts'
import { run as migrate } from '../../../src/cli/migrate.ts'
import { hasPostgresServer, PostgresServer } from '../../support/servers/postgres-server.ts'
import { newDataDir } from '../../support/start/databases.ts'
import { post } from '../../support/start/process.ts'
import { readMetric, startWithSample } from '../../support/start/running.ts'
import { TestService } from '../../support/start/service.ts'
import { numberedSpec, Team } from '../../support/start/team.ts'

const DAY_MS = 86_400_000
const JWT_SECRET = 'secret of the tests, long enough'
const WAIT_MS = 60_000

/**
 * A server with the roles of docs/databases.md: `scoreline_owner` owns the tables, and two roles in
 * turn serve as `scoreline_app`.
 */
async function startServer() {
  const server = await PostgresServer.start()
  onTestFinished(() => server.drop())
  const superuser = postgres(server.url, { max: 1, onnotice: () => {} })
  onTestFinished(() => superuser.end())
  await superuser.unsafe(`
    create role scoreline_owner login password 'owner';
    create role scoreline_app nologin;
    create role scoreline_a login password 'a' in role scoreline_app;
    create role scoreline_b login password 'b' in role scoreline_app;`)
  await superuser.unsafe('create database scoreline owner scoreline_owner')
  await server.askPassword('all')
  const formatUrl = (role: string, password: string) =>
    `postgres://${role}:${password}@127.0.0.1:${server.port}/scoreline`
  return { superuser, urlOf: formatUrl, ownerUrl: formatUrl('scoreline_owner', 'owner') }
}

const call = (databaseUrl: string) => ({
  call: 'scoreline',
  env: { DATABASE_URL: databaseUrl, JWT_SECRET },
  onCrash: (error: Error) => {
    throw error
  },
})

function startService(databaseUrl: string, epochMs: () => number) {
  const create = async () => ({ databaseUrl, dataDir: newDataDir(), drop: async () => {} })
  const clock = { epochMs, monotonicMs: () => performance.now() }
  return TestService.start({ name: 'PostgreSQL', create }, { clock })
}

async function refusal(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'done',
    (error: Error) => error.message,
  )
}

describe.skipIf(!hasPostgresServer)('the roles of the database', () => {
  test('a role with the rights that migrate grants serves a week, and can change no record', async () => {
    const { urlOf: formatUrl, ownerUrl } = await startServer()
    const url = formatUrl('scoreline_a', 'a')
    // What operates makes no tables, whoever calls it.
    const early = await admin(['team', 'list'], call(ownerUrl))
    expect([early.code, early.stderr]).toEqual([1, expect.stringMatching(/run scoreline migrate/)])

    expect(await migrate([], call(ownerUrl))).toMatchObject({ code: 0, stderr: '' })
    // Without the rights, the start says at once what else would fail in a week.
    expect(await refusal(startService(url, Date.now))).toMatch(
      /the user lacks a right; run scoreline migrate as the owner of the tables, with --grant-to/,
    )
    const owner = postgres(ownerUrl, { max: 1, onnotice: () => {} })
    onTestFinished(() => owner.end())
    await owner.unsafe(`grant usage on schema drizzle to scoreline_app;
      grant select on all tables in schema drizzle to scoreline_app;
      grant select, insert, update, delete on all tables in schema public to scoreline_app`)
    expect(await refusal(startService(url, Date.now))).toMatch(
      /the role scoreline_a may not change partitions of the log; run scoreline migrate --grant-to/,
    )
    const granted = await migrate(['--grant-to', 'scoreline_app'], call(ownerUrl))
    expect(granted).toMatchObject({ code: 0, stderr: '' })
    expect(granted.stdout).toMatch(/^The database has the tables of version \S+, and scoreline_app/)

    const app = postgres(url, { max: 1, onnotice: () => {} })
    onTestFinished(() => app.end())
    const logged = () => app`select first_at::date::text as day, tableoid::regclass::text as place
      from score_blocks order by first_at`
    const days = [0, 7, 14]
    for (const [index, day] of days.entries()) {
      const service = await startService(url, () => Date.now() + day * DAY_MS)
      const team = await Team.of(service)
      const { slug } = await team.deploy(numberedSpec(day))
      await team.score(slug, { income: 1 })
      await vi.waitFor(async () => expect(await logged()).toHaveLength(index + 1), WAIT_MS)
      expect(service.services.drain.stats.failedBatches).toBe(0)
      await service.close()
    }
    // Each record is in the partition of its day, none in that of what has no partition.
    const places = [...(await logged())].map(({ day, place }) => [String(day), place])
    const named = places.map(([day = '']) => [day, `score_blocks_p${day.replaceAll('-', '')}`])
    expect(places).toEqual(named)
    expect(new Set(named.map(([day]) => day)).size).toBe(days.length)

    for (const forbidden of [
      'update audit_log set actor = $1',
      'delete from audit_log where actor = $1',
      'alter table audit_log disable trigger audit_log_append_only -- $1',
      'drop table users -- $1',
      'drop table score_blocks -- $1',
      'create table mine (of text) -- $1',
      'delete from drizzle.__drizzle_migrations where hash = $1',
    ]) {
      const parameters = forbidden.includes('-- ') ? [] : ['nobody']
      const said = await refusal(app.unsafe(forbidden, parameters))
      expect(said, forbidden).toMatch(/permission denied|must be owner/)
    }
    // A partition that is too old leaves; other tables stay.
    const [{ gone } = { gone: '' }] =
      await app`select drop_log_partition('users')::text as gone, to_regclass('users') as still`
    expect(gone).toBe('')
    expect(await app`select 1 from users limit 1`).toHaveLength(1)
  })

  test('a password is changed under load without a failed score', async () => {
    const { superuser, urlOf: formatUrl, ownerUrl } = await startServer()
    await migrate(['--grant-to', 'scoreline_app'], call(ownerUrl))
    const env = { JWT_SECRET, SPEC_CACHE_TTL_SECONDS: '1' }
    const first = await startWithSample(
      { ...env, DATABASE_URL: formatUrl('scoreline_a', 'a') },
      onTestFinished,
    )
    let { endpoint } = first
    const statuses = new Map<number, number>()
    const ending = new AbortController()
    const load = async () => {
      while (!ending.signal.aborted) {
        const { status } = await post(endpoint, { income: 1 }, first.key)
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        await delay(2)
      }
    }
    const callers = [load(), load(), load(), load()]
    await delay(1_000)
    // The other role gets a new password, and the next replica uses it.
    await superuser.unsafe("alter role scoreline_b password 'new'")
    const second = await startWithSample(
      { ...env, DATABASE_URL: formatUrl('scoreline_b', 'new') },
      onTestFinished,
    )
    endpoint = `${second.url}/v1/score/${first.endpoint.split('/').at(-1)}`
    await delay(1_000)
    // What an end leaves in the spool comes to the log with the next start, which there is none of.
    await expect.poll(() => readMetric(first.url, 'scoreline_spool_records')).toBe(0)
    expect(await first.process.stop('SIGTERM')).toBe(0)
    await superuser.unsafe('alter role scoreline_a nologin')
    await superuser`select pg_terminate_backend(pid) from pg_stat_activity
      where usename = 'scoreline_a'`
    // Longer than anything in memory is trusted.
    await delay(3_000)
    ending.abort()
    await Promise.all(callers)
    expect([...statuses.keys()]).toEqual([200])
    expect(await readMetric(second.url, 'scoreline_database_away_seconds')).toBe(0)
    const app = postgres(formatUrl('scoreline_b', 'new'), { max: 1 })
    onTestFinished(() => app.end())
    await vi.waitFor(async () => {
      const [{ logged } = { logged: 0 }] = await app`select sum(records)::int as logged
        from score_blocks where superseded_at is null`
      expect(logged).toBe(statuses.get(200))
    }, WAIT_MS)
  })
})
