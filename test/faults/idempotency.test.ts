import { setTimeout } from 'node:timers/promises'
import { drizzle } from 'drizzle-orm/postgres-js'
import postgres, { type Sql } from 'postgres'
import { describe, expect, inject, type TestContext, test } from 'vitest'
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
}

async function startReplica(
  database: TestDatabase,
  redisUrl: string,
  onEnd: OnEnd,
): Promise<Replica> {
  const process = ServiceProcess.start({
    DATA_DIR: newDataDir(),
    DATABASE_URL: database.databaseUrl ?? '',
    REDIS_URL: redisUrl,
    JWT_SECRET: 'secret of the tests, long enough',
    BOOTSTRAP_OWNER_EMAIL: PROCESS_OWNER.email,
    BOOTSTRAP_OWNER_PASSWORD: PROCESS_OWNER.password,
    RATE_LIMIT_PER_MINUTE: '1000000000',
    LOG_LEVEL: 'fatal',
  })
  onEnd(() => void process.stop('SIGKILL'))
  return { process, url: await process.url() }
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
  const owner = String(
    (await post(`${first.url}/api/auth/login`, PROCESS_OWNER)).body['access_token'],
  )
  const order = { spec: numberedSpec(1), environment: 'production', auto_deploy: true }
  const deployed = await post(`${first.url}/v1/models/deploy`, order, owner)
  const { slug } = deployed.body['deployment'] as { slug: string }
  const created = await post(`${first.url}/v1/keys`, { name: 'a key' }, owner)
  return { redis, first, second, client, db, owner, slug, key: String(created.body['key']) }
}

/** Keeps no answer, and so slowly that a process can be killed before it sends one. */
async function holdKeeping(db: Sql): Promise<() => Promise<void>> {
  await db.unsafe(`create function be_slow() returns trigger language plpgsql as
    $$ begin perform pg_sleep(4); raise 'not kept'; end $$;
    create trigger slow before update of answer on idempotency_keys
      for each row when (new.answer is not null) execute function be_slow()`)
  return async () => void (await db.unsafe('drop trigger slow on idempotency_keys'))
}

/** Waits until the statement finds something. */
async function until(found: () => Promise<boolean>): Promise<void> {
  while (!(await found())) await setTimeout(20)
}

// Side by side, because two of them wait until a claim ends.
describe.skipIf(!CAN_RUN)('two processes over one PostgreSQL and one Redis', () => {
  // Clients send again when they hear nothing, to any replica, and most of all when something
  // breaks.
  test.concurrent(`${KEYS} keys, each ${AT_ONCE} times at once, are executed ${KEYS} times while Redis is killed`, {
    timeout: 600_000,
  }, async ({ onTestFinished }) => {
    const { redis, first, second, client, db, slug, key } = await startReplicas(onTestFinished)
    const idsByKey = new Map<string, Set<string>>()
    let sent = 0
    let notKept = 0
    const sendAll = async (n: number) => {
      const ids = new Set<string>()
      idsByKey.set(`application ${n}`, ids)
      await Promise.all(
        Array.from({ length: AT_ONCE }, async (_, at) => {
          const { url } = at % 2 === 0 ? first : second
          const body = JSON.stringify({ income: n })
          const answer = await client.untilAnswered(
            ...([`${url}/v1/score/${slug}`, key, `application ${n}`, body] as const),
          )
          expect(answer.status, answer.body).toBe(200)
          if ('idempotency-kept' in answer.headers) notKept++
          ids.add(JSON.parse(answer.body).request_id)
          sent++
        }),
      )
    }
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
    expect(await first.process.stop()).toBe(0)
    expect(await second.process.stop()).toBe(0)

    const answered = [...idsByKey.values()].flatMap((ids) => [...ids])
    const logged = await loggedIds(drizzle(db))
    const figures = { keys: KEYS, sent, waits: client.waits, notKept, executed: logged.length }
    if (KEYS_ASKED !== undefined) process.stdout.write(`${JSON.stringify(figures)}\n`)
    expect(figures).toMatchObject({ sent: KEYS * AT_ONCE, notKept: 0, executed: KEYS })
    expect(logged.toSorted()).toEqual(answered.toSorted())
  })

  // The client has no answer, and can't know that the score is in the log.
  test.concurrent('a score whose process is killed before its answer is made again after 30 s', {
    timeout: 120_000,
  }, async ({ onTestFinished }) => {
    const { first, second, client, db, slug, key } = await startReplicas(onTestFinished)
    const send = ({ url }: Replica) =>
      client.send(`${url}/v1/score/${slug}`, key, 'application', '{"income":1}')
    const recover = await holdKeeping(db)
    const lost = expect(send(first)).rejects.toThrow()
    await until(async () => (await loggedIds(drizzle(db))).length === 1)
    await first.process.stop('SIGKILL')
    await lost
    await recover()
    const early = await send(second)
    expect(early.body).toContain('idempotency_in_progress')
    await setTimeout(CLAIM_END_MS)
    const answers = [await send(second), await send(second)]
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    expect(answers[1]?.body).toBe(answers[0]?.body)
    await until(async () => (await loggedIds(drizzle(db))).length === 2)
  })

  // A second rollback would undo the first one, and nobody would notice.
  test.concurrent('a rollback whose process is killed before its answer is never made again', {
    timeout: 120_000,
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
