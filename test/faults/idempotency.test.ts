import { setTimeout } from 'node:timers/promises'
import postgres, { type Sql } from 'postgres'
import { describe, expect, inject, type TestContext, test } from 'vitest'
import { connectPostgres } from '../../src/platform/db/postgres.ts'
import { KeyedClient } from '../support/load/keyed-load.ts'
import { loggedIds } from '../support/score-log/log-rows.ts'
import { RedisServer } from '../support/servers/redis-server.ts'
import { backends, newDataDir, type TestDatabase } from '../support/start/databases.ts'
import { post, ServiceProcess } from '../support/start/process.ts'
import { PROCESS_OWNER } from '../support/start/running.ts'
import { numberedSpec } from '../support/start/team.ts'

/** A thousand where the issue is proven; continuous integration has less time. */
const KEYS_ASKED = process.env['SCORELINE_TEST_KEYS']
const KEYS = Number(KEYS_ASKED ?? 60)
const AT_ONCE = 20
const STORMS_MAX = 5
/** Keys that are under way at the same time. */
const KEYS_AT_ONCE = 10
/** Longer than the claim of a dead process. */
const CLAIM_END_MS = 31_000
const CAN_RUN = inject('postgresTemplate') !== null && inject('redisUrl') !== null

/** Tests run side by side here: each says for itself what is to be done when it has ended. */
type OnEnd = TestContext['onTestFinished']

interface Replica {
  readonly process: ServiceProcess
  readonly url: string
  readonly dataDir: string
}

async function startReplica(
  database: TestDatabase,
  redisUrl: string,
  onEnd: OnEnd,
  dataDir = newDataDir(),
): Promise<Replica> {
  const process = ServiceProcess.start({
    DATA_DIR: dataDir,
    DATABASE_URL: database.databaseUrl ?? '',
    REDIS_URL: redisUrl,
    JWT_SECRET: 'secret of the tests, long enough',
    BOOTSTRAP_OWNER_EMAIL: PROCESS_OWNER.email,
    BOOTSTRAP_OWNER_PASSWORD: PROCESS_OWNER.password,
    RATE_LIMIT_PER_MINUTE: '1000000000',
    LOG_LEVEL: 'fatal',
  })
  onEnd(() => void process.stop('SIGKILL'))
  return { process, url: await process.url(), dataDir }
}

/** Two processes over one database and one Redis, with a deployment and a key for it. */
async function startReplicas(onEnd: OnEnd) {
  const backend = backends.find(({ name }) => name === 'PostgreSQL') ?? expect.fail()
  const database = await backend.create()
  onEnd(() => database.drop())
  const redis = await RedisServer.start()
  onEnd(() => redis.remove())
  const first = await startReplica(database, redis.url, onEnd)
  const second = await startReplica(database, redis.url, onEnd)
  const client = new KeyedClient(KEYS_AT_ONCE * AT_ONCE)
  onEnd(() => client.close())
  const db = postgres(database.databaseUrl ?? '', { max: 2, onnotice: () => {} })
  onEnd(() => db.end())
  const { db: log, close } = connectPostgres(database.databaseUrl ?? '', 1)
  onEnd(close)
  const owner = String(
    (await post(`${first.url}/api/auth/login`, PROCESS_OWNER)).body['access_token'],
  )
  const order = { spec: numberedSpec(1), environment: 'production', auto_deploy: true }
  const deployed = await post(`${first.url}/v1/models/deploy`, order, owner)
  const { slug } = deployed.body['deployment'] as { slug: string }
  const created = await post(`${first.url}/v1/keys`, { name: 'a key' }, owner)
  const key = String(created.body['key'])
  /** As after a crash: it goes on with the spool of the one that was killed. */
  const restart = ({ dataDir }: Replica) => startReplica(database, redis.url, onEnd, dataDir)
  return { redis, first, second, client, db, log, owner, slug, key, restart }
}

/** Keeps no answer, and so slowly that a process can be killed before it sends one. */
async function holdKeeping(db: Sql): Promise<() => Promise<void>> {
  await db.unsafe(`create function be_slow() returns trigger language plpgsql as
    $$ begin perform pg_sleep(4); raise 'not kept'; end $$;
    create trigger slow before update of answer on idempotency_keys
      for each row when (new.answer is not null) execute function be_slow()`)
  return async () => void (await db.unsafe('drop trigger slow on idempotency_keys'))
}

/** Tells whether an answer is being kept, as slowly as `holdKeeping` makes it. */
async function isKeeping(db: Sql): Promise<boolean> {
  const rows = await db`select 1 from pg_stat_activity
    where datname = current_database() and wait_event = 'PgSleep'`
  return rows.length > 0
}

/** Waits until the statement finds something. */
async function until(found: () => Promise<boolean>): Promise<void> {
  while (!(await found())) await setTimeout(20)
}

// Side by side, because two of them wait until a claim ends.
describe.skipIf(!CAN_RUN)('two processes over one PostgreSQL and one Redis', () => {
  // Clients send again when they hear nothing, to any replica, and most of all when something
  // breaks. A storm is void in which a busy machine held the database up, so that an answer said of
  // itself that it is not kept.
  test.concurrent(`${KEYS} keys, each ${AT_ONCE} times at once, are executed ${KEYS} times while Redis is killed`, {
    timeout: 600_000,
  }, async ({ onTestFinished }) => {
    const { redis, first, second, client, log, slug, key } = await startReplicas(onTestFinished)
    const storm = async (name: string) => {
      const ids = new Set<string>()
      let sent = 0
      let notKept = 0
      const sendAll = (n: number) =>
        Promise.all(
          Array.from({ length: AT_ONCE }, async (_, at) => {
            const { url } = at % 2 === 0 ? first : second
            const body = JSON.stringify({ income: n })
            const answer = await client.untilAnswered(
              ...([`${url}/v1/score/${slug}`, key, `${name} ${n}`, body] as const),
            )
            expect(answer.status, answer.body).toBe(200)
            if ('idempotency-kept' in answer.headers) notKept++
            ids.add(JSON.parse(answer.body).request_id)
            sent++
          }),
        )
      let next = 0
      const worker = async () => {
        while (next < KEYS) await sendAll(next++)
      }
      const kill = async () => {
        await until(async () => next > KEYS / 3)
        await redis.kill()
        await until(async () => next > (2 * KEYS) / 3)
        await redis.restart()
      }
      await Promise.all([...Array.from({ length: KEYS_AT_ONCE }, worker), kill()])
      return { answered: [...ids], sent, notKept }
    }
    for (let attempt = 0; attempt < STORMS_MAX; attempt++) {
      const before = new Set(await loggedIds(log))
      const { answered, ...counts } = await storm(`application of storm ${attempt}`)
      // An end may leave in the spool what could not be stored in time.
      await until(async () => {
        const logged = new Set(await loggedIds(log))
        return answered.every((id) => logged.has(id))
      })
      if (counts.notKept > 0) {
        const executed = (await loggedIds(log)).length - before.size
        expect(executed).toBeLessThanOrEqual(KEYS + counts.notKept)
        continue
      }
      expect(await first.process.stop()).toBe(0)
      expect(await second.process.stop()).toBe(0)
      const logged = (await loggedIds(log)).filter((id) => !before.has(id))
      const figures = { keys: KEYS, ...counts, waits: client.waits, executed: logged.length }
      if (KEYS_ASKED !== undefined) process.stdout.write(`${JSON.stringify(figures)}\n`)
      expect(figures).toMatchObject({ sent: KEYS * AT_ONCE, executed: KEYS })
      expect(logged.toSorted()).toEqual(answered.toSorted())
      return
    }
    expect.fail('the database was held up in every storm')
  })

  // The client has no answer, and can't know that the score is in the log.
  test.concurrent('a score whose process is killed before its answer is made again after 30 s', {
    timeout: 300_000,
  }, async ({ onTestFinished }) => {
    const { first, second, client, db, log, slug, key, restart } =
      await startReplicas(onTestFinished)
    const send = ({ url }: Replica) =>
      client.send(`${url}/v1/score/${slug}`, key, 'application', '{"income":1}')
    const recover = await holdKeeping(db)
    const lost = expect(send(first)).rejects.toThrow()
    await until(() => isKeeping(db))
    await first.process.stop('SIGKILL')
    await lost
    await recover()
    const early = await send(second)
    expect(early.body).toContain('idempotency_in_progress')
    await restart(first)
    await until(async () => (await loggedIds(log)).length === 1)
    await setTimeout(CLAIM_END_MS)
    const answers = [await send(second), await send(second)]
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    expect(answers[1]?.body).toBe(answers[0]?.body)
    await until(async () => (await loggedIds(log)).length === 2)
  })

  // A second rollback would undo the first one, and nobody would notice.
  test.concurrent('a rollback whose process is killed before its answer is never made again', {
    timeout: 300_000,
  }, async ({ onTestFinished }) => {
    const { first, second, client, db, owner, slug } = await startReplicas(onTestFinished)
    const order = { spec: numberedSpec(2), environment: 'production', auto_deploy: false }
    const { model_id } = (await post(`${first.url}/v1/models/deploy`, order, owner)).body
    const challengers = `${first.url}/api/v1/scorecards/${slug}`
    const added = { challenger_version: '2.0', mode: 'live', traffic_pct: 5 }
    await post(`${challengers}/challengers`, added, owner)
    const promotion = await post(`${challengers}/promote`, { version: '2.0' }, owner)
    expect([promotion.status, typeof model_id]).toEqual([200, 'string'])

    const send = ({ url }: Replica) => {
      const path = `${url}/v1/deployments/${slug}/rollback`
      return client.send(path, owner, 'rollback of tonight', '{"reason":"wrong"}')
    }
    const rollbacks = async () => {
      const rows = await db`select 1 from audit_log where action = 'deployment.rollback'`
      return rows.length
    }
    const recover = await holdKeeping(db)
    const lost = expect(send(first)).rejects.toThrow()
    await until(async () => (await rollbacks()) === 1)
    await first.process.stop('SIGKILL')
    await lost
    await recover()
    await setTimeout(CLAIM_END_MS)
    const again = await send(second)
    expect(again.body).toContain('idempotency_answer_lost')
    expect(await rollbacks()).toBe(1)
  })
})
