/** Single scores with a key, while no answer is stored: keys are claimed in Redis or in the process. */
import { sql } from 'drizzle-orm'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, describe, expect, inject, test, vi } from 'vitest'
import { RedisClaims } from '../../../../src/http/idempotency/score-claims/redis-claims.ts'
import { LogReader } from '../../../../src/log/reading/log-reader.ts'
import { type Database, queryRows } from '../../../../src/platform/db/client.ts'
import { card, numeric } from '../../../support/cards/cards.ts'
import { hostileBody } from '../../../support/cards/hostile-bodies.ts'
import { worksheetCard } from '../../../support/cards/reason-cards.ts'
import { TWO_FEATURES, TWO_FEATURES_BODY } from '../../../support/cards/two-features.ts'
import { findOutcome } from '../../../support/expect/answers.ts'
import {
  expectAgain,
  formatDatabase,
  type KeyedCall,
  keyed,
  newKey,
  waitForRedis,
} from '../../../support/scenarios/idempotency.ts'
import { RedisServer } from '../../../support/servers/redis-server.ts'
import { backends } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'
import { numberedSpec, Team } from '../../../support/start/team.ts'

const PATHS = [
  ['the fast path', ''],
  ['Fastify', '?lang=en'],
] as const
/** Of a value in Redis: its state, and the second in which it was claimed. */
const VALUE = /^([CLS])(\d{10})/

const redis = inject('redisUrl') === null ? null : await RedisServer.start()
afterAll(() => redis?.remove())

const inRedis = redis === null ? [] : backends.map((backend) => ({ backend, url: redis.url }))
const inProcess = backends
  .filter(({ name }) => name === 'PGlite')
  .map((backend) => ({ backend, url: null }))

describe.each([...inRedis, ...inProcess])('on $backend.name, Redis $url', ({ backend, url }) => {
  const service = TestService.forSuite(backend, { env: url === null ? {} : { REDIS_URL: url } })
  const team = Team.forSuite(service)
  let db: Database

  beforeAll(async () => {
    db = await formatDatabase(team)
    if (url !== null) await waitForRedis(service)
  })
  afterEach(() => {
    vi.restoreAllMocks()
  })

  const single = (slug: string, rest: Partial<KeyedCall> = {}): KeyedCall => ({
    url: `/v1/score/${slug}`,
    token: team.key,
    body: { income: 1 },
    ...rest,
  })

  /** Moves the times of keys, which it can do in Redis alone. */
  const testRedis = (name: string, run: () => Promise<void>) => {
    if (url !== null) test(name, run)
  }

  /** Sends a request, does something, and sends it again: the answers must be equal. */
  async function expectSameAfter(call: KeyedCall, between: () => Promise<unknown>): Promise<void> {
    const key = newKey()
    const first = await keyed(service, key, call)
    expect(first.statusCode, first.body).toBe(200)
    expect(first.headers).not.toHaveProperty('idempotency-kept')
    await between()
    expectAgain(first, await keyed(service, key, call))
  }

  /** Waits until the drain has stored all scores. */
  const drained = () =>
    expect.poll(() => service.services.drain.stats.lagMs, { timeout: 10_000 }).toBe(null)

  // The key is all that a score leaves behind, so that a day of them has room.
  test('neither the answer to a score nor its claim is stored', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const keys = () => queryRows(db, sql`select key_hash from idempotency_keys order by key_hash`)
    const before = await keys()
    await expectSameAfter(single(slug), drained)
    expect(await keys()).toEqual(before)
  })

  // A key can be the number of an application, and a body says who a person is.
  test('neither Redis nor the database has a word of a key or a body', async () => {
    const { slug } = await team.deploy(TWO_FEATURES)
    const key = `folder of Mr Tudor, ${newKey()}`
    const body = { income: 1, job: 'falconer of Grimsby' }
    await keyed(service, key, single(slug, { body }))
    await drained()
    const tables = ['score_keys', 'score_claims', 'score_claim_leases', 'idempotency_keys']
    const stored = await Promise.all(
      tables.map((table) => queryRows(db, sql`select t::text from ${sql.identifier(table)} as t`)),
    )
    const texts = JSON.stringify([stored, url === null ? [] : await readRedis()])
    for (const word of [key, 'Tudor', 'falconer', 'Grimsby', slug, team.key]) {
      for (const code of ['utf8', 'hex', 'base64url'] as const) {
        expect(texts).not.toContain(Buffer.from(word).toString(code))
      }
    }
  })

  test.each(PATHS)('%s answers any body again as it was', async (_, query) => {
    const { slug } = await team.deploy(TWO_FEATURES)
    const path = `/v1/score/${slug}${query}`
    let answered = 0
    await fc.assert(
      fc.asyncProperty(hostileBody(TWO_FEATURES_BODY), async (body) => {
        const call = { method: 'POST', url: path, payload: body } as const
        const headers = {
          authorization: `Bearer ${team.key}`,
          'content-type': 'application/json',
          'idempotency-key': newKey(),
        }
        const first = await service.inject({ ...call, headers })
        const again = await service.inject({ ...call, headers })
        if (first.statusCode === 200) expectAgain(first, again)
        else expect(again.headers).not.toHaveProperty('idempotent-replayed')
        if (first.statusCode === 200) answered++
        expect(again.statusCode).toBe(first.statusCode)
      }),
      { numRuns: 60 },
    )
    expect(answered).toBeGreaterThan(5)
  })

  test('a score of the other path family is answered again after its record is drained', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const body = { scorecard_id: slug, applicant: { income: 'much', other: 1 } }
    await expectSameAfter({ url: '/api/v1/score', token: team.key, body }, drained)
  })

  // Whoever asks again after a promotion must not get the answer of another model.
  test.each(['shadow', 'live'])(
    'an answer beside a challenger in a %s test stays when that is promoted',
    async (mode) => {
      const { slug } = await team.deploy(numberedSpec(1))
      const { id } = await team.challenge(slug, numberedSpec(2), 50)
      if (mode === 'shadow') await team.shadow(slug, true)
      for (const routingKey of ['a', 'b', 'c', 'd']) {
        const headers = { 'x-routing-key': `${routingKey} of ${slug}` }
        await expectSameAfter(single(slug, { headers }), drained)
      }
      await expectSameAfter(single(slug), async () => {
        await team.promote(slug, id)
        await drained()
      })
    },
  )

  test('an answer stays when its deployment is switched off', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    await expectSameAfter(single(slug), () =>
      team.done('PATCH', `/v1/deployments/${slug}`, { is_active: false }),
    )
  })

  test('an answer with reasons stays when another card scores', async () => {
    const { slug } = await team.deploy(worksheetCard())
    const call = single(slug, { url: `/v1/score/${slug}?reasons=4`, body: {} })
    await expectSameAfter(call, async () => {
      await team.promote(slug, (await team.challenge(slug, numberedSpec(2), 10)).id)
    })
  })

  // A challenger that fails for a moment is no part of the answer, and of none that repeats it.
  test('an answer without the score of a challenger that failed stays without it', async () => {
    const { slug } = await team.deploy(TWO_FEATURES)
    const flag = numeric('flag', [['(-Infinity, Infinity)', 1]])
    await team.challenge(slug, card([flag], { name: 'Ladder', version: '2.0' }), 10)
    await team.shadow(slug, true)
    const scores = (await team.score(slug, { income: 1, flag: true })).shadow_scores
    expect(scores).toEqual([])
    await expectSameAfter(single(slug, { body: { income: 1, flag: true } }), drained)
  })

  test.each(PATHS)('%s executes a key once of 20 requests at once', async (_, query) => {
    const { slug } = await team.deploy(numberedSpec(1))
    const call = single(slug, { url: `/v1/score/${slug}${query}` })
    const score = vi.spyOn(service.services.scoring, 'score')
    const key = newKey()
    const answers = await Promise.all(Array.from({ length: 20 }, () => keyed(service, key, call)))
    expect(score).toHaveBeenCalledTimes(1)
    const own = answers.filter(({ statusCode }) => statusCode === 200)
    expect(new Set(own.map(({ body }) => body)).size).toBe(1)
    const others = answers.filter(({ statusCode }) => statusCode !== 200).map(findOutcome)
    expect(others.filter((outcome) => outcome !== '409 idempotency_in_progress')).toEqual([])
  })

  test.each(PATHS)(
    '%s asks to come again while the first request is under way',
    async (_, query) => {
      const { slug } = await team.deploy(numberedSpec(1))
      const call = single(slug, { url: `/v1/score/${slug}${query}` })
      const key = newKey()
      const gate = Promise.withResolvers<void>()
      const { scoring } = service.services
      const score = scoring.score.bind(scoring)
      const held = vi.spyOn(scoring, 'score')
      held.mockImplementationOnce((...args) => void gate.promise.then(() => score(...args)))
      const first = keyed(service, key, call)
      await expect.poll(() => held.mock.calls.length).toBe(1)
      const early = await keyed(service, key, call)
      expect(findOutcome(early)).toBe('409 idempotency_in_progress')
      expect(Number(early.headers['retry-after'])).toBe(1)
      const other = { ...call, body: { income: 2 } }
      expect(findOutcome(await keyed(service, key, other))).toBe('422 idempotency_key_reused')
      gate.resolve()
      expectAgain(await first, await keyed(service, key, call))
      expect(findOutcome(await keyed(service, key, other))).toBe('422 idempotency_key_reused')
    },
  )

  // A mistake must not cost a key: the client corrects it and goes on.
  test.each(PATHS)('%s frees the key of a score that it refuses at once', async (_, query) => {
    const { slug } = await team.deploy(numberedSpec(1))
    const path = `/v1/score/${slug}${query}`
    const key = newKey()
    await team.done('PATCH', `/v1/deployments/${slug}`, { is_active: false })
    expect(findOutcome(await keyed(service, key, single(slug, { url: path })))).toMatch(/^404/)
    await team.done('PATCH', `/v1/deployments/${slug}`, { is_active: true, strict_mode: true })
    const body = { outcome: 1 }
    expect(findOutcome(await keyed(service, key, single(slug, { url: path, body })))).toMatch(
      /^422/,
    )
    const call = single(slug, { url: path, body: { income: 2 } })
    const first = await keyed(service, key, call)
    expect(first.headers).not.toHaveProperty('idempotent-replayed')
    expectAgain(first, await keyed(service, key, call))
  })

  test.each(PATHS)('%s says that it keeps no key while there is no room', async (_, query) => {
    const { slug } = await team.deploy(numberedSpec(1))
    const call = single(slug, { url: `/v1/score/${slug}${query}` })
    const key = newKey()
    const { idempotency } = service.services
    idempotency.isFull = true
    const full = [await keyed(service, key, call), await keyed(service, key, call)]
    idempotency.isFull = false
    for (const { statusCode, headers } of full) {
      expect([statusCode, headers['idempotency-kept']]).toEqual([200, 'false'])
    }
    const first = await keyed(service, key, call)
    expect(first.headers).not.toHaveProperty('idempotent-replayed')
    expectAgain(first, await keyed(service, key, call))
  })

  testRedis('a key is free after a day, and not before', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const key = newKey()
    const first = await keyed(service, key, single(slug))
    await age(24 * 60 * 60 - 60)
    expectAgain(first, await keyed(service, key, single(slug)))
    await age(60)
    const call = single(slug, { body: { income: 2 } })
    const second = await keyed(service, key, call)
    expect(second.headers).not.toHaveProperty('idempotent-replayed')
    expect(second.json().request_id).not.toBe(first.json().request_id)
    expectAgain(second, await keyed(service, key, call))
  })

  // A process that died after it had logged the score can't tell Redis so.
  testRedis('a claim of 30 s whose score is logged is answered, and not before', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const key = newKey()
    vi.spyOn(RedisClaims.prototype, 'noteLogged').mockImplementationOnce((_, onSent) => onSent())
    const first = await keyed(service, key, single(slug))
    await age(25)
    expect(findOutcome(await keyed(service, key, single(slug)))).toBe('409 idempotency_in_progress')
    await age(6)
    const other = await keyed(service, key, single(slug, { body: { income: 2 } }))
    expect(findOutcome(other)).toBe('422 idempotency_key_reused')
    expectAgain(first, await keyed(service, key, single(slug)))
    expectAgain(first, await keyed(service, key, single(slug)))
  })

  // A process that died before it had logged the score leaves nothing that could be answered.
  testRedis(
    'a claim of 30 s whose score is not logged is executed by one of 20 requests',
    async () => {
      const { slug } = await team.deploy(numberedSpec(1))
      const key = newKey()
      await team.done('PATCH', `/v1/deployments/${slug}`, { is_active: false })
      vi.spyOn(RedisClaims.prototype, 'change').mockResolvedValueOnce(true)
      expect(findOutcome(await keyed(service, key, single(slug)))).toMatch(/^404/)
      await team.done('PATCH', `/v1/deployments/${slug}`, { is_active: true })
      expect(findOutcome(await keyed(service, key, single(slug)))).toBe(
        '409 idempotency_in_progress',
      )
      await age(31)
      const score = vi.spyOn(service.services.scoring, 'score')
      const all = Array.from({ length: 20 }, () => keyed(service, key, single(slug)))
      const answers = await Promise.all(all)
      expect(score).toHaveBeenCalledTimes(1)
      const first = answers.find(
        ({ statusCode, headers }) => statusCode === 200 && !('idempotent-replayed' in headers),
      )
      expectAgain(first ?? expect.fail('one is executed'), await keyed(service, key, single(slug)))
    },
  )

  // A wrong answer is worse than none.
  test('an answer that would differ from what was logged is refused', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const key = newKey()
    await keyed(service, key, single(slug))
    await drained()
    const { find } = LogReader.prototype
    vi.spyOn(LogReader.prototype, 'find').mockImplementation(async function (this: LogReader, id) {
      const found = await find.call(this, id)
      const [row] = found?.rows ?? []
      const [result] = row?.results ?? []
      if (found === null || row === undefined || !result) return expect.fail('it is logged')
      const { score, pd, grade, warningCount, cells } = result
      const changed = { score: score + 2 ** -30, pd, grade, warningCount, cells }
      return { ...found, rows: [{ ...row, results: [changed] }] }
    })
    const again = await keyed(service, key, single(slug))
    expect(findOutcome(again)).toBe('503 unavailable')
    expect(again.json().message).toContain('/v1/scores/req_')
  })
})

/** All that Redis has, by name; each byte is a character. */
function readRedis(): Promise<string[]> {
  return withKeys(async (client, name) => {
    const parts = await readHash(client, name)
    return [name, ...parts].map((part) => part.toString('latin1'))
  })
}

/** Makes all keys in Redis older. */
async function age(seconds: number): Promise<void> {
  await withKeys(async (client, name) => {
    const parts = await readHash(client, name)
    for (let at = 0; at < parts.length; at += 2) {
      const older = (_: string, state: string, since: string) =>
        state + String(Number(since) - seconds).padStart(10, '0')
      const value = parts[at + 1]?.toString('latin1').replace(VALUE, older) ?? ''
      await client.hset(name, parts[at] ?? '', Buffer.from(value, 'latin1'))
    }
    return []
  })
}

type RedisClient = ReturnType<RedisServer['client']>

/** Fields and values in turn. */
async function readHash(client: RedisClient, name: Buffer): Promise<Buffer[]> {
  return (await client.callBuffer('HGETALL', name)) as Buffer[]
}

async function withKeys<T>(
  work: (client: RedisClient, name: Buffer) => Promise<T[]>,
): Promise<T[]> {
  const client = redis?.client() ?? expect.fail('there is a Redis')
  try {
    const names = await client.keysBuffer('scoreline:keys:*:*:*')
    return (await Promise.all(names.map((name) => work(client, name)))).flat()
  } finally {
    client.disconnect()
  }
}
