/** Scores whose process, or whose database, is lost after they were logged. */
import { setTimeout } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import {
  CLAIM_END_MS,
  canRunReplicas,
  idOf,
  KeyedReplicas,
} from '../support/start/keyed-replicas.ts'

const KEYS = Array.from({ length: 40 }, (_, at) => `application ${at}`)
const AWAY_MS = 40_000
/** Of a score on the fast path, and of one that Fastify answers. */
const QUERIES = ['', '?lang=en']
const CLAIMED = [
  ['in Redis', {}],
  ['in the database', { JWT_SECRET: `${'new '.repeat(8)},${'old '.repeat(8)}` }],
] as const

// Side by side, because most of their time they wait.
describe.skipIf(!canRunReplicas)('two processes over one PostgreSQL and one Redis', () => {
  // The client has no answer, and can't know that the score is in the spool.
  test.concurrent.for(CLAIMED)(
    'a score whose process is killed before its answer is answered after 30 s, claimed %s',
    {
      timeout: 300_000,
    },
    async ([, env], { expect, onTestFinished }) => {
      const durability = { SCORE_LOG_DURABILITY: 'database' }
      const replicas = await KeyedReplicas.start(onTestFinished, Object.assign(durability, env))
      const { first, second } = replicas
      const goOn = await replicas.holdDrains()
      const sentAt = performance.now()
      const lost = expect(replicas.score(first, 'application')).rejects.toThrow()
      await replicas.waitForHeldDrain()
      await first.process.stop('SIGKILL')
      await lost
      const early = await replicas.score(second, 'application')
      expect(early.body).toContain('idempotency_in_progress')
      await goOn()
      const again = await replicas.restart(first)
      await expect.poll(() => replicas.loggedIds(), { timeout: 30_000 }).toHaveLength(1)
      const answer = await replicas.scoreSoon(second, 'application')
      expect(performance.now() - sentAt).toBeLessThan(60_000)
      expect([answer.status, answer.headers['idempotent-replayed']]).toEqual([200, 'true'])
      expect((await replicas.score(again, 'application')).body).toBe(answer.body)
      expect(await replicas.loggedIds()).toEqual([idOf(answer)])
    },
  )

  test.concurrent.for(CLAIMED)(
    'a score that the database takes too late is never executed again, claimed %s',
    {
      timeout: 300_000,
    },
    async ([, env], { expect, onTestFinished }) => {
      const durability = { SCORE_LOG_DURABILITY: 'database' }
      const replicas = await KeyedReplicas.start(onTestFinished, Object.assign(durability, env))
      const { first, second } = replicas
      const goOn = await replicas.holdDrains()
      const sent = QUERIES.map((query) => replicas.score(first, 'application', 1, query))
      const late = await Promise.all(sent)
      for (const { body } of late) expect(body).toContain('the score was logged')
      // Longer than a claim lasts: only the first replica knows of its scores.
      await setTimeout(CLAIM_END_MS)
      const early = await Promise.all(
        QUERIES.map((query) => replicas.score(second, 'application', 1, query)),
      )
      for (const { status, body } of early) expect([409, 503], body).toContain(status)
      await goOn()
      for (const query of QUERIES) {
        const answer = await replicas.scoreSoon(second, 'application', 1, query)
        expect([answer.status, answer.headers['idempotent-replayed']]).toEqual([200, 'true'])
      }
      const ids = late.map(({ headers }) => headers['x-request-id'])
      expect((await replicas.loggedIds()).toSorted()).toEqual(ids.toSorted())
    },
  )

  // What was answered may have been acted upon: another score must not follow.
  test.concurrent('40 scores whose process is killed right after its answers are never executed again', {
    timeout: 300_000,
  }, async ({ expect, onTestFinished }) => {
    const replicas = await KeyedReplicas.start(onTestFinished)
    const { first, second } = replicas
    const goOn = await replicas.holdDrains()
    const answers = await Promise.all(KEYS.map((key) => replicas.score(first, key)))
    await first.process.stop('SIGKILL')
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    const early = await Promise.all(KEYS.map((key) => replicas.score(second, key)))
    expect(new Set(early.map(({ status }) => status))).toEqual(new Set([503]))
    await goOn()
    await setTimeout(CLAIM_END_MS)
    const late = await Promise.all(KEYS.map((key) => replicas.score(second, key)))
    expect(new Set(late.map(({ status }) => status))).toEqual(new Set([503]))
    await replicas.restart(first)
    await expectFirstAnswers(replicas, answers)
    expect((await replicas.loggedIds()).toSorted()).toEqual(answers.map(idOf).toSorted())
  })

  test.concurrent('40 scores are not executed again while the database is away', {
    timeout: 300_000,
  }, async ({ expect, onTestFinished }) => {
    const replicas = await KeyedReplicas.start(onTestFinished)
    const { first, second } = replicas
    const answers = await Promise.all(KEYS.map((key) => replicas.score(first, key)))
    expect(answers.filter(({ headers }) => 'idempotency-kept' in headers)).toEqual([])
    for (const { toDatabase } of [first, second]) toDatabase.refuse()
    const awayUntilMs = performance.now() + AWAY_MS
    while (performance.now() < awayUntilMs) {
      const early = await Promise.all(KEYS.map((key) => replicas.score(second, key)))
      for (const [at, answer] of early.entries()) {
        if (answer.status === 200) expect(answer.body).toBe(answers[at]?.body)
        else expect([409, 503], answer.body).toContain(answer.status)
      }
      await setTimeout(1_000)
    }
    for (const { toDatabase } of [first, second]) toDatabase.admit()
    await expectFirstAnswers(replicas, answers)
    expect((await replicas.loggedIds()).toSorted()).toEqual(answers.map(idOf).toSorted())
  })

  // As with the machine of both: nobody but the database can say that the keys were used.
  test.concurrent('40 logged scores are not executed again when a process and Redis are lost at once', {
    timeout: 300_000,
  }, async ({ expect, onTestFinished }) => {
    const replicas = await KeyedReplicas.start(onTestFinished)
    const { first, second, redis } = replicas
    const answers = await Promise.all(KEYS.map((key) => replicas.score(first, key)))
    await expect.poll(() => replicas.loggedIds(), { timeout: 30_000 }).toHaveLength(KEYS.length)
    await Promise.all([first.process.stop('SIGKILL'), redis.kill()])
    await redis.restart()
    const others = KEYS.map((key) => replicas.score(second, key, 2))
    for (const other of await Promise.all(others)) {
      expect([other.status, other.body]).toEqual([422, expect.any(String)])
    }
    const again = await Promise.all(KEYS.map((key) => replicas.score(second, key)))
    expect(again.map(({ status, body }) => [status, body])).toEqual(
      answers.map(({ body }) => [200, body]),
    )
    await replicas.waitForRedis(second)
    await expectFirstAnswers(replicas, answers)
    expect((await replicas.loggedIds()).toSorted()).toEqual(answers.map(idOf).toSorted())
  })
})

/** Expects the second replica to give these answers to the keys, sooner or later, and no others. */
async function expectFirstAnswers(
  replicas: KeyedReplicas,
  answers: readonly { readonly body: string }[],
): Promise<void> {
  for (const [at, key] of KEYS.entries()) {
    for (;;) {
      const answer = await replicas.score(replicas.second, key)
      if (answer.status === 200) {
        expect(answer.body).toBe(answers[at]?.body)
        break
      }
      expect([409, 503], answer.body).toContain(answer.status)
      await setTimeout(200)
    }
  }
}
