import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { buildApp } from '../../../src/app.ts'
import { AppError } from '../../../src/errors.ts'
import { ANYONE } from '../../../src/http/access/caller.ts'
import { hashKey, newKeySecret } from '../../../src/identity/keys/secret.ts'
import type { KeyService } from '../../../src/identity/keys/service.ts'
import { newId } from '../../../src/platform/ids.ts'
import type { Services } from '../../../src/services.ts'
import { apiKeys } from '../../../src/tables/keys.ts'
import { card, plainFeature } from '../../support/cards/cards.ts'
import { findOutcome, formatJson } from '../../support/expect/answers.ts'
import { backends } from '../../support/start/databases.ts'
import { ManualClock } from '../../support/start/manual-clock.ts'
import { seeded } from '../../support/start/seeded-database.ts'
import { TestService } from '../../support/start/service.ts'
import {
  insertOwner,
  insertTeam,
  insertUser,
  type TestUser,
  tokenFor,
} from '../../support/start/users.ts'

const QUOTA = 50
const KEY_QUOTA = 3
const WINDOW_MS = 60_000
const spec = card([plainFeature('income')])
const body = { income: 1 }

// Nothing here depends on the database, but that the quota of a key comes from it.
describe.each(backends.slice(-1))('on $name', (backend) => {
  const clock = new ManualClock(Date.now())
  let service: TestService
  let owner: string
  const viewers: TestUser[] = []
  let slug: string
  let addresses = 0
  const narrowKeys = Array.from({ length: 6 }, () => newKeySecret(null))

  beforeAll(async () => {
    const withKeys = seeded(backend, async (db) => {
      const teamId = await insertTeam(db)
      await insertOwner(db, teamId)
      for (let i = 0; i < 3; i++) viewers.push(await insertUser(db, teamId, 'viewer'))
      for (const keySecret of narrowKeys) {
        await db.insert(apiKeys).values({
          id: newId('key_', Date.now()),
          teamId,
          name: 'narrow',
          createdBy: 'a test',
          keyHash: hashKey(keySecret),
          keyPrefix: 'sk_live_',
          scopes: ['score'],
          createdAt: new Date(),
          rateLimitPerMinute: KEY_QUOTA,
        })
      }
    })
    const env = { RATE_LIMIT_PER_MINUTE: String(QUOTA), BODY_LIMIT_BYTES: '2048' }
    service = await TestService.start(withKeys, { env, clock })
    owner = await service.signIn()
    slug = await service.deploy(owner, spec)
  })
  afterAll(() => service.close())

  const newAddress = () => `198.51.100.${addresses++}`
  // Each test takes fresh ones.
  const narrowKey = () => narrowKeys.pop() ?? ''
  const viewerToken = () => tokenFor(service, viewers.pop() as TestUser)

  /** Calls from an address of the test's own, unless it names one. */
  function call(options: InjectOptions, token?: string): Promise<LightMyRequestResponse> {
    return service.inject({
      method: 'POST',
      remoteAddress: newAddress(),
      ...options,
      headers: {
        ...(options.payload !== undefined && { 'content-type': 'application/json' }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...options.headers,
      },
    })
  }

  const score = (token: string) => call({ url: `/v1/score/${slug}`, payload: body }, token)
  const readQuota = ({ headers }: LightMyRequestResponse) => [
    Number(headers['x-ratelimit-limit'] ?? Number.NaN),
    Number(headers['x-ratelimit-remaining'] ?? Number.NaN),
  ]

  async function exhaust(request: () => Promise<LightMyRequestResponse>, quota = QUOTA) {
    for (let i = 0; i < quota; i++) expect((await request()).statusCode).not.toBe(429)
  }

  /** The app with services that fail, beside the one that works. */
  async function appWith(overrides: Partial<Services>): Promise<FastifyInstance> {
    const app = await buildApp({ ...service.services, ...overrides }, service.config)
    onTestFinished(() => app.close())
    return app
  }

  const failingKeys = (error: Error) =>
    ({
      isUnknown: () => false,
      findHeldCaller: () => undefined,
      findCaller: () => Promise.reject(error),
    }) as unknown as KeyService

  // Clients pace themselves by these headers, most of all when something goes wrong.
  const key = () => service.createKey(owner)
  test.each<[string, number, () => Promise<LightMyRequestResponse>]>([
    ['a score', 200, async () => score(await key())],
    [
      'a body that is wrong',
      400,
      async () => call({ url: '/v1/keys', payload: { name: 1 } }, owner),
    ],
    ['a body that is not JSON', 400, async () => call({ url: '/v1/keys', payload: '{' }, owner)],
    ['a URL that is malformed', 400, () => call({ url: '/v1/score/%c0%80', payload: body })],
    ['no key', 401, () => call({ url: `/v1/score/${slug}`, payload: body })],
    ['a wrong token', 401, () => call({ url: '/v1/keys', payload: {} }, 'garbage')],
    ['a wrong password', 401, () => wrongPassword()],
    ['a role that may not', 403, () => call({ url: '/v1/keys' }, viewerToken())],
    [
      'a deployment that is none',
      404,
      async () => call({ url: '/v1/score/dep_none', payload: body }, await key()),
    ],
    ['a path that is none', 404, () => call({ url: '/nowhere', payload: body })],
    [
      'a method that the path does not take',
      405,
      () => call({ method: 'PUT', url: '/v1/keys' }, owner),
    ],
    [
      'a body that is too large',
      413,
      () => call({ url: '/v1/keys', payload: { name: 'x'.repeat(3000) } }, owner),
    ],
    [
      'a body that is not a document',
      415,
      () =>
        call({ url: '/v1/keys', payload: 'x', headers: { 'content-type': 'text/plain' } }, owner),
    ],
    ['a failure', 500, () => failing(new Error('a fault'))],
    ['a database that is away', 503, () => failing(new AppError('unavailable', 'try again'))],
  ])('%s answers %i with the quota', async (_what, status, request) => {
    const response = await request()
    expect(response.statusCode).toBe(status)
    const [limit, remaining] = readQuota(response)
    expect(limit).toBe(QUOTA)
    expect(remaining).toBeGreaterThanOrEqual(0)
    expect(remaining).toBeLessThan(QUOTA)
    expect(response.headers['x-ratelimit-reset']).toBeUndefined()
  })

  const wrongPassword = () =>
    call({
      url: '/api/auth/login',
      payload: { email: 'nobody@lender.example', password: 'not the password' },
    })
  const failing = async (error: Error) => {
    const app = await appWith({ keys: failingKeys(error) })
    return app.inject({
      method: 'POST',
      url: `/v1/score/${slug}`,
      remoteAddress: newAddress(),
      headers: { authorization: `Bearer ${newKeySecret(null)}` },
    })
  }

  test('a caller over the quota learns when to try again, and is admitted then', async () => {
    const keySecret = narrowKey()
    const remaining: number[] = []
    for (let i = 0; i < KEY_QUOTA; i++) remaining.push(readQuota(await score(keySecret))[1] ?? -1)
    expect(remaining).toEqual([2, 1, 0])
    clock.advance(12_345)
    const denied = await score(keySecret)
    const { request_id: requestId, message, ...rest } = formatJson(denied)
    expect(denied.statusCode).toBe(429)
    expect(rest).toEqual({ error: 'rate_limited', retry_after_ms: WINDOW_MS - 12_345 })
    expect(message).toMatch(/quota/)
    expect(requestId).toBe(denied.headers['x-request-id'])
    expect(denied.headers['retry-after']).toBe('48')
    expect(readQuota(denied)).toEqual([KEY_QUOTA, 0])
    clock.advance(rest.retry_after_ms - 1)
    expect((await score(keySecret)).statusCode).toBe(429)
    clock.advance(1)
    expect((await score(keySecret)).statusCode).toBe(200)
  })

  test('a key has one budget over all endpoints, and a batch takes one of it', async () => {
    const keySecret = narrowKey()
    const applicant = { scorecard_id: slug, applicant: body }
    const records = Array.from({ length: 20 }, () => body)
    const responses = [
      await score(keySecret),
      await call({ url: '/api/v1/score', payload: applicant }, keySecret),
      await call({ url: `/v1/score/${slug}/batch`, payload: { records } }, keySecret),
      await call({ url: `/v1/score/${slug}/batch`, payload: { records } }, keySecret),
    ]
    expect(responses.map(findOutcome)).toEqual(['200', '200', '200', '429 rate_limited'])
  })

  test('keys have budgets of their own, at the default unless they have another', async () => {
    const [narrow, wide] = [narrowKey(), await service.createKey(owner)]
    await exhaust(() => score(narrow), KEY_QUOTA)
    expect((await score(narrow)).statusCode).toBe(429)
    expect(readQuota(await score(wide))).toEqual([QUOTA, QUOTA - 1])
  })

  test('a user has their own budget, from any address', async () => {
    const token = viewerToken()
    const list = () => call({ method: 'GET', url: '/v1/models' }, token)
    await exhaust(list)
    expect(findOutcome(await list())).toBe('429 rate_limited')
    expect((await call({ method: 'GET', url: '/v1/models' }, owner)).statusCode).toBe(200)
  })

  // What the caller asks for must not be looked at any more, or it costs as much as if it were
  // admitted.
  test('a request over the quota is refused before role, body and deployment are checked', async () => {
    const keySecret = narrowKey()
    await exhaust(() => score(keySecret), KEY_QUOTA)
    const token = viewerToken()
    await exhaust(() => call({ method: 'GET', url: '/v1/models' }, token))
    const refused = await Promise.all([
      call({ url: `/v1/score/${slug}`, payload: '{"income":' }, keySecret),
      call({ url: `/v1/score/${slug}`, payload: { income: 'x'.repeat(3000) } }, keySecret),
      call({ url: '/v1/score/dep_none', payload: body }, keySecret),
      call({ url: '/v1/keys', payload: { name: 1 } }, token),
    ])
    expect(refused.map(findOutcome)).toEqual(refused.map(() => '429 rate_limited'))
  })

  // Keys must not be tried out at any speed, nor unknown paths.
  test('requests without a proven caller count on their address, for every refusal', async () => {
    const remoteAddress = newAddress()
    const keySecret = await service.createKey(owner)
    expect((await score(keySecret)).statusCode, 'makes the key known').toBe(200)
    const attempts = [
      () => call({ url: `/v1/score/${slug}`, payload: body, remoteAddress }, newKeySecret(null)),
      () => call({ url: '/v1/keys', payload: {}, remoteAddress }, 'garbage'),
      () => call({ url: '/nowhere', remoteAddress }),
      () => call({ url: '/v1/score/%c0%80', payload: body, remoteAddress }),
      () => call({ method: 'GET', url: '/api/auth/login', remoteAddress }),
    ]
    for (let i = 0; i < QUOTA / attempts.length; i++) {
      for (const attempt of attempts) expect((await attempt()).statusCode).toBeLessThan(429)
    }
    for (const attempt of attempts) {
      const response = await attempt()
      expect(response.statusCode).toBe(429)
      expect(formatJson(response).error).toBe('rate_limited')
      expect(response.headers['retry-after']).toBe('60')
      expect(readQuota(response)).toEqual([QUOTA, 0])
    }
    // A known caller at the same address has a budget of its own; for a new key see
    // guesses.test.ts.
    const proven = call({ url: `/v1/score/${slug}`, payload: body, remoteAddress }, keySecret)
    expect((await proven).statusCode).toBe(200)
  })

  // One client can take any of the 2^64 addresses of its network.
  test('all of an IPv6 /64 is one address', async () => {
    const from = (remoteAddress: string) => call({ url: '/nowhere', remoteAddress })
    const first = await from('2001:db8:7:7::1')
    const second = await from('2001:db8:7:7:ffff::2')
    const elsewhere = await from('2001:db8:7:8::1')
    expect([first, second, elsewhere].map((response) => readQuota(response)[1])).toEqual([
      QUOTA - 1,
      QUOTA - 2,
      QUOTA - 1,
    ])
  })

  test('a route can be outside the quota, but not have one of its own', async () => {
    const app = await buildApp(service.services, service.config)
    onTestFinished(() => app.close())
    app.get('/outside', { config: { access: ANYONE, rateLimit: false } }, () => 'ok')
    const own = () =>
      app.get('/own', { config: { access: ANYONE, rateLimit: { max: 1 } } }, () => '')
    expect(own).toThrow('/own')
    const response = await app.inject({ url: '/outside', remoteAddress: newAddress() })
    expect(response.statusCode).toBe(200)
    expect(response.headers['x-ratelimit-limit']).toBeUndefined()
  })
})
