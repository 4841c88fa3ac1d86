import { setTimeout } from 'node:timers/promises'
import type { Sql } from 'postgres'
import { describe, expect, test } from 'vitest'
import {
  CLAIM_END_MS,
  canRunReplicas,
  idOf,
  KeyedReplicas,
  type Replica,
  until,
} from '../support/start/keyed-replicas.ts'
import { post } from '../support/start/process.ts'
import { numberedSpec } from '../support/start/team.ts'

/** A thousand where the issue is proven; continuous integration has less time. */
const KEYS_ASKED = process.env['SCORELINE_TEST_KEYS']
const KEYS = Number(KEYS_ASKED ?? 60)
const AT_ONCE = 20
const STORMS_MAX = 5
/** Keys that are under way at the same time. */
const KEYS_AT_ONCE = 10

/** What becomes of Redis when a third, and when two thirds of the keys were sent. */
const FAULTS: readonly {
  readonly name: string
  readonly fault: (replicas: KeyedReplicas) => Promise<void>
  readonly end: (replicas: KeyedReplicas) => Promise<void>
}[] = [
  {
    name: 'Redis is killed',
    fault: ({ redis }) => redis.kill(),
    end: ({ redis }) => redis.restart(),
  },
  { name: 'Redis is emptied, twice', fault: empty, end: empty },
  {
    name: 'Redis comes back as it was before',
    fault: (replicas) => withRedis(replicas, (client) => client.save()),
    end: async ({ redis }) => {
      await redis.kill()
      await redis.restart()
    },
  },
  {
    name: 'one process loses Redis',
    fault: async ({ first }) => first.toRedis.refuse(),
    end: async ({ first }) => first.toRedis.admit(),
  },
  {
    name: 'Redis stands still',
    fault: async ({ redis }) => redis.signal('SIGSTOP'),
    end: async ({ redis }) => redis.signal('SIGCONT'),
  },
]

async function withRedis(
  { redis }: KeyedReplicas,
  work: (client: ReturnType<typeof redis.client>) => Promise<unknown>,
): Promise<void> {
  const client = redis.client()
  await work(client)
  client.disconnect()
}

function empty(replicas: KeyedReplicas): Promise<void> {
  return withRedis(replicas, (client) => client.flushall())
}

/** Keeps no answer, and so slowly that a process can be killed before it sends one. */
async function holdKeeping(db: Sql): Promise<() => Promise<void>> {
  await db.unsafe(`create function be_slow() returns trigger language plpgsql as
    $$ begin perform pg_sleep(4); raise 'not kept'; end $$;
    create trigger slow before update of answer on idempotency_keys
      for each row when (new.answer is not null) execute function be_slow()`)
  return async () => void (await db.unsafe('drop trigger slow on idempotency_keys'))
}

/** Sends each key many times at once, to both processes. @returns what was answered */
async function storm(
  replicas: KeyedReplicas,
  name: string,
  { fault, end }: (typeof FAULTS)[number],
) {
  const ids = new Set<string>()
  let sent = 0
  let notKept = 0
  let next = 0
  const sendAll = (n: number) =>
    Promise.all(
      Array.from({ length: AT_ONCE }, async (_, at) => {
        const replica = at % 2 === 0 ? replicas.first : replicas.second
        const answer = await replicas.scoreSoon(replica, `${name} ${n}`, n)
        expect(answer.status, answer.body).toBe(200)
        if ('idempotency-kept' in answer.headers) notKept++
        ids.add(idOf(answer))
        sent++
      }),
    )
  const worker = async () => {
    while (next < KEYS) await sendAll(next++)
  }
  const harm = async () => {
    await until(async () => next > KEYS / 3)
    await fault(replicas)
    await until(async () => next > (2 * KEYS) / 3)
    await end(replicas)
  }
  await Promise.all([...Array.from({ length: KEYS_AT_ONCE }, worker), harm()])
  return { answered: [...ids], sent, notKept }
}

// Side by side, because some of them wait until a claim ends.
describe.skipIf(!canRunReplicas)('two processes over one PostgreSQL and one Redis', () => {
  // Clients send again when they hear nothing, to any replica, and most of all when something
  // breaks. A storm is void in which a busy machine held the database up, so that an answer said of
  // itself that it is not kept.
  test.concurrent.for(FAULTS.map((harm) => [harm.name, harm] as const))(
    `${KEYS} keys, each ${AT_ONCE} times at once, are executed ${KEYS} times while %s`,
    { timeout: 600_000 },
    async ([, harm], { onTestFinished }) => {
      const replicas = await KeyedReplicas.start(onTestFinished)
      const { first, second, client } = replicas
      for (let attempt = 0; attempt < STORMS_MAX; attempt++) {
        await replicas.waitForRedis(replicas.first, replicas.second)
        const before = new Set(await replicas.loggedIds())
        const name = `application of storm ${attempt}`
        const { answered, ...counts } = await storm(replicas, name, harm)
        // An end may leave in the spool what could not be stored in time.
        await until(async () => {
          const logged = new Set(await replicas.loggedIds())
          return answered.every((id) => logged.has(id))
        })
        if (counts.notKept > 0) {
          const executed = (await replicas.loggedIds()).length - before.size
          expect(executed).toBeLessThanOrEqual(KEYS + counts.notKept)
          continue
        }
        expect(await first.process.stop()).toBe(0)
        expect(await second.process.stop()).toBe(0)
        const logged = (await replicas.loggedIds()).filter((id) => !before.has(id))
        const figures = { keys: KEYS, ...counts, waits: client.waits, executed: logged.length }
        if (KEYS_ASKED !== undefined) process.stdout.write(`${JSON.stringify(figures)}\n`)
        expect(figures).toMatchObject({ sent: KEYS * AT_ONCE, executed: KEYS })
        expect(logged.toSorted()).toEqual(answered.toSorted())
        return
      }
      expect.fail('the database was held up in every storm')
    },
  )

  // A second rollback would undo the first one, and nobody would notice.
  test.concurrent('a rollback whose process is killed before its answer is never made again', {
    timeout: 300_000,
  }, async ({ onTestFinished }) => {
    const replicas = await KeyedReplicas.start(onTestFinished)
    const { first, second, client, db, owner, slug } = replicas
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
