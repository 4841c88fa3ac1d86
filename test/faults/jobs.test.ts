import { setTimeout as delay } from 'node:timers/promises'
import postgres, { type Sql } from 'postgres'
import { describe, expect, type TestContext, test } from 'vitest'
import { sampleApplicants, sampleSpec } from '../support/cards/cards.ts'
import { hasPostgresServer, PostgresServer } from '../support/servers/postgres-server.ts'
import { newDataDir } from '../support/start/databases.ts'
import { post, ServiceProcess } from '../support/start/process.ts'
import { PROCESS_OWNER } from '../support/start/running.ts'

/** A minute where it is shown that no job fails; continuous integration has less time. */
const AWAY_MS = Number(process.env['SCORELINE_TEST_AWAY_MS'] ?? 2_000)
/** A lease is 30 s; then a replica looks for a job every 2 s. */
const TAKEN_OVER_MS = 60_000

/** Tests run side by side here: each says for itself what is to be done when it has ended. */
type OnEnd = TestContext['onTestFinished']

async function startReplica(server: PostgresServer, onEnd: OnEnd): Promise<ServiceProcess> {
  const replica = ServiceProcess.start({
    DATA_DIR: newDataDir(),
    DATABASE_URL: server.url,
    JWT_SECRET: 'secret of the tests, long enough',
    BOOTSTRAP_OWNER_EMAIL: PROCESS_OWNER.email,
    BOOTSTRAP_OWNER_PASSWORD: PROCESS_OWNER.password,
    RATE_LIMIT_PER_MINUTE: '1000000',
  })
  onEnd(async () => void (await replica.stop('SIGKILL')))
  await replica.url()
  return replica
}

interface Started {
  readonly server: PostgresServer
  readonly replica: ServiceProcess
  readonly db: Sql
  readonly token: string
  /** Starts a replay of what was logged. @returns the id of the job */
  replay(of?: ServiceProcess): Promise<string>
}

/** A server of the test's own, a replica, and some logged scores. */
async function start(onEnd: OnEnd): Promise<Started> {
  const server = await PostgresServer.start()
  onEnd(() => server.drop())
  const replica = await startReplica(server, onEnd)
  const url = await replica.url()
  const login = await post(`${url}/api/auth/login`, PROCESS_OWNER)
  const token = String(login.body['access_token'])
  const order = { spec: sampleSpec(), environment: 'production', auto_deploy: true }
  const deployed = await post(`${url}/v1/models/deploy`, order, token)
  const { slug } = deployed.body['deployment'] as { slug: string }
  const key = String((await post(`${url}/v1/keys`, { name: 'a key' }, token)).body['key'])
  const records = sampleApplicants()
    .slice(0, 50)
    .map(({ applicant }) => applicant)
  expect((await post(`${url}/v1/score/${slug}/batch`, { records }, key)).status).toBe(200)
  const to = new Date(Date.now() + 1).toISOString()
  const db = postgres(server.url, { max: 2, onnotice: () => {}, connect_timeout: 5 })
  onEnd(() => db.end({ timeout: 1 }))
  while ((await db`select 1 from score_blocks`).length === 0) await delay(50)
  const replay = async (of = replica) => {
    const path = `${await of.url()}/v1/deployments/${slug}/replays`
    return String((await post(path, { to }, token)).body['id'])
  }
  return { server, replica, db, token, replay }
}

/** The job as soon as `isSo`; a service whose database is away answers 503. */
async function jobWhen(
  { token }: Started,
  of: ServiceProcess,
  jobId: string,
  isSo: (status: string) => boolean,
) {
  const endMs = performance.now() + AWAY_MS + 2 * TAKEN_OVER_MS
  for (;;) {
    const headers = { authorization: `Bearer ${token}` }
    const answer = await fetch(`${await of.url()}/v1/jobs/${jobId}`, { headers })
    const job = (await answer.json()) as { status: string; result: unknown }
    if (answer.status === 200 && isSo(job.status)) return job
    if (performance.now() > endMs) throw new Error(`it did not come to that: ${job.status}`)
    await delay(50)
  }
}

const hasEnded = (status: string) => !['queued', 'running'].includes(status)

/** Keeps a job from reading the log, so that it is under way for as long as a test wants. */
async function holdLog({ url }: PostgresServer): Promise<() => Promise<void>> {
  const holder = postgres(url, { max: 1, onnotice: () => {} })
  const held = Promise.withResolvers<void>()
  holder
    .begin(async (tx) => {
      await tx`lock table score_blocks in access exclusive mode`
      held.resolve()
      await new Promise(() => undefined)
    })
    .catch(() => undefined)
  await held.promise
  return () => holder.end({ timeout: 0 })
}

/** How often a run was begun, those that the outage interrupted included. */
async function listRuns(db: Sql, jobId: string): Promise<number> {
  const [row] = await db<{ runs: number }[]>`
    select attempts + interruptions as runs from jobs where id = ${jobId}`
  return row?.runs ?? 0
}

const CUT = `select pg_terminate_backend(pid) from pg_stat_activity
  where application_name = 'scoreline'`

// Side by side, because each waits until a lease ends.
describe.skipIf(!hasPostgresServer)('a job over a PostgreSQL server', () => {
  test.concurrent.for(['stopped and started', 'rid of all its connections'])(
    'that is %s meanwhile begins again, and has the same result',
    { timeout: AWAY_MS + 5 * TAKEN_OVER_MS },
    async (fault, { onTestFinished }) => {
      const started = await start(onTestFinished)
      const { server, replica, db, replay } = started
      const undisturbed = await jobWhen(started, replica, await replay(), hasEnded)
      expect(undisturbed).toMatchObject({ status: 'done', result: { verdict: 'deterministic' } })
      const release = await holdLog(server)
      const jobId = await replay()
      await jobWhen(started, replica, jobId, (status) => status === 'running')
      await delay(200)
      if (fault === 'stopped and started') {
        await server.stop()
        await delay(AWAY_MS)
        await server.resume()
      }
      // A job also survives the loss of a connection: this ends each one until it gives up.
      while (!replica.output.includes('a job was interrupted')) {
        if (fault !== 'stopped and started') await db.unsafe(CUT)
        await delay(200)
      }
      await release()
      const job = await jobWhen(started, replica, jobId, hasEnded)
      expect(job).toMatchObject({ status: 'done', result: undisturbed.result })
      expect(await listRuns(db, jobId)).toBe(2)
    },
  )

  test.concurrent(
    'whose process is killed is taken over by another one, and has the same result',
    async ({ onTestFinished }) => {
      const started = await start(onTestFinished)
      const { server, replica, db, replay } = started
      const undisturbed = await jobWhen(started, replica, await replay(), hasEnded)
      const release = await holdLog(server)
      const jobId = await replay()
      await jobWhen(started, replica, jobId, (status) => status === 'running')
      expect(await replica.stop('SIGKILL')).toBe(null)
      await release()
      const other = await startReplica(server, onTestFinished)
      const job = await jobWhen(started, other, jobId, hasEnded)
      expect(job).toMatchObject({ status: 'done', result: undisturbed.result })
      expect(await listRuns(db, jobId)).toBe(2)
    },
    5 * TAKEN_OVER_MS,
  )
})
