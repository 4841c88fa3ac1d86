import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { newKeySecret } from '../../../src/identity/keys/secret.ts'
import { card, plainFeature } from '../../support/cards/cards.ts'
import { findOutcome, formatJson } from '../../support/expect/answers.ts'
import { backends } from '../../support/start/databases.ts'
import { ManualClock } from '../../support/start/manual-clock.ts'
import { TestService } from '../../support/start/service.ts'

const QUOTA = 20

// Whoever guesses keys must not be able to keep the database busy with it.
describe.each(backends.slice(-1))('on $name', (backend) => {
  const clock = new ManualClock(Date.now())
  let service: TestService
  let owner: string
  let slug: string
  let queries = 0
  let addresses = 0
  let address: string

  beforeAll(async () => {
    const onQuery = (statement: string) => {
      if (statement.includes('key_hash')) queries++
    }
    const env = { RATE_LIMIT_PER_MINUTE: String(QUOTA) }
    service = await TestService.start(backend, { clock, onQuery, env })
    owner = await service.signIn()
    slug = await service.deploy(owner, card([plainFeature('income')]))
  })
  afterAll(() => service.close())
  beforeEach(() => {
    address = `198.51.100.${addresses++}`
    clock.advance(60_000)
    queries = 0
  })

  const score = (key: string, remoteAddress = address) =>
    service.inject({
      method: 'POST',
      url: `/v1/score/${slug}`,
      payload: { income: 1 },
      remoteAddress,
      headers: { authorization: `Bearer ${key}` },
    })
  const guess = () => score(newKeySecret(null))
  const stats = (key: string) =>
    service.inject({
      method: 'GET',
      url: `/v1/deployments/${slug}/stats`,
      remoteAddress: address,
      headers: { authorization: `Bearer ${key}` },
    })
  const spend = async () => {
    for (let i = 0; i < QUOTA; i++) expect((await guess()).statusCode).toBe(401)
    queries = 0
  }

  test('beyond its quota an address costs no query for a guessed key', async () => {
    await spend()
    for (let i = 0; i < 10; i++) {
      expect(findOutcome(await guess())).toBe('429 rate_limited')
      expect(findOutcome(await stats(newKeySecret(null)))).toBe('429 rate_limited')
    }
    expect(queries).toBe(0)
  })

  test('guesses at the same moment cost no more queries than the quota', async () => {
    const responses = await Promise.all(Array.from({ length: 10 * QUOTA }, guess))
    const refused = responses.filter(({ statusCode }) => statusCode === 429)
    expect(refused).toHaveLength(9 * QUOTA)
    expect(queries).toBe(QUOTA)
  })

  test('a key with a wrong checksum costs no query at all', async () => {
    for (let i = 0; i < 5; i++) await score(`${newKeySecret(null).slice(0, -6)}000000`)
    expect(queries).toBe(0)
  })

  test('known keys go on behind an address beyond its quota, also when re-checked', async () => {
    const key = await service.createKey(owner)
    expect((await score(key)).statusCode).toBe(200)
    await spend()
    expect((await score(key)).statusCode).toBe(200)
    clock.advance(59_999)
    await spend().catch(() => undefined)
    // Their entry in the cache is too old to be trusted by now: they are looked up again.
    service.services.keys.invalidateAll()
    expect((await score(key)).statusCode).toBe(200)
  })

  test('a valid new key waits for its address, is never refused as wrong, and is then known', async () => {
    const key = await service.createKey(owner)
    await spend()
    const denied = await score(key)
    expect(findOutcome(denied)).toBe('429 rate_limited')
    expect(Number(denied.headers['retry-after'])).toBeGreaterThan(0)
    expect(queries).toBe(0)
    expect((await score(key, '203.0.113.1')).statusCode).toBe(200)
    expect((await score(key)).statusCode, 'known by now').toBe(200)
  })

  test('a valid new key is admitted once its address has room, at the time that the refusal named', async () => {
    const key = await service.createKey(owner)
    await spend()
    clock.advance(formatJson(await score(key)).retry_after_ms)
    expect((await score(key)).statusCode).toBe(200)
  })

  // After a restart all keys are new, and behind a balancer all may share one address.
  test("valid new keys use none of their address's quota, however many come at once", async () => {
    const keys: string[] = []
    while (keys.length < 2 * QUOTA) {
      if (keys.length % (QUOTA - 5) === 0) clock.advance(60_000)
      keys.push(await service.createKey(owner))
    }
    clock.advance(60_000)
    const responses = await Promise.all(keys.map((key) => score(key)))
    expect(responses.map(({ statusCode }) => statusCode)).toEqual(keys.map(() => 200))
    expect(findOutcome(await guess())).toBe('401 invalid_api_key')
  })
})
