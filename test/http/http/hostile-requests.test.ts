import { beforeAll, describe, expect, test } from 'vitest'
import { card, numeric, plainFeature } from '../../support/cards/cards.ts'
import { findOutcome, formatJson, formatRefusal } from '../../support/expect/answers.ts'
import { processorMs } from '../../support/expect/processor-time.ts'
import { backends, firstBackend } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'

const spec = card([plainFeature('income')])

describe.each(backends.slice(-1))('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  let owner: string
  let slug: string
  let key: string

  beforeAll(async () => {
    owner = await service.signIn()
    slug = await service.deploy(owner, spec)
    key = await service.createKey(owner)
  })

  // V8's JSON.parse takes an escaped name for one that stood at its place in an earlier request.
  test("an earlier request of any caller can't change the score of a later one", async () => {
    const bins = [
      ['(-Infinity, Infinity)', 100],
      ['Missing', -50],
    ] as const
    const spelled = card([
      numeric('alter', [['(-Infinity, Infinity)', 10]]),
      numeric('größe', bins),
    ])
    const url = `/v1/score/${await service.deploy(owner, spelled)}`
    await service.call({ url: '/api/auth/login', body: '{"alter":1,"gr\\\\u0":0}' })
    await service.call({ url, token: key, body: '{"alter":1,"gr\\\\u0":0}' })
    const body = '{"alter": 40, "gr\\u00f6\\u00dfe": 180}'
    const response = await service.call({ url, token: key, body })
    expect(formatJson(response)).toMatchObject({ score: 210, warnings: [] })
  })

  // One text of a process has a bound, and everyone waits while it is written.
  test('an answer beyond 64 MiB is refused with what to do, not attempted', async () => {
    const names = Array.from({ length: 300 }, (_, n) => `${n} ${'x'.repeat(240)}`)
    const wide = await service.deploy(owner, card(names.map((name) => plainFeature(name))))
    const body = { records: Array(1_000).fill({}), include_contributions: true }
    const response = await service.call({ url: `/v1/score/${wide}/batch`, token: key, body })
    expect(findOutcome(response)).toBe('413 payload_too_large')
    expect(formatRefusal(response).message).toContain('send fewer records')
  })

  // The client chooses the id, so it must not be able to cause a 500.
  test.each([
    ['an impossible value', '"records":[{"id":1e400,"income":true}]', '400 invalid_request'],
    [
      'a strict violation',
      '"strict_mode":true,"records":[{"id":-1e400}]',
      '422 strict_mode_violation',
    ],
  ])(
    'an id beyond the range of a double beside %s is null in the refusal',
    async (_, text, outcome) => {
      const url = `/v1/score/${slug}/batch`
      const response = await service.call({ url, token: key, body: `{${text}}` })
      expect(findOutcome(response)).toBe(outcome)
      expect(formatRefusal(response).details?.[0]).toMatchObject({ index: 0, id: null })
    },
  )

  // While a bound is read, nobody is scored.
  test('a bound of 100,000 digits is refused as fast as it is read', async () => {
    const bad = card([numeric('a', [[`(${'1'.repeat(100_000)}x, 5]`, 1]])])
    const body = { spec: bad, environment: 'staging', auto_deploy: false }
    const startedMs = processorMs()
    const response = await service.call({ url: '/v1/models/deploy', token: owner, body })
    expect(findOutcome(response)).toBe('422 invalid_spec')
    expect(processorMs() - startedMs).toBeLessThan(500)
  })

  // A stranger's 16 MiB must not be parsed, which takes seconds when nested.
  test('the body of a request to an unknown path is not read', async () => {
    expect(findOutcome(await service.call({ url: '/nowhere', body: '{' }))).toBe('404 not_found')
    const levels = 4_000_000
    const body = '['.repeat(levels) + ']'.repeat(levels)
    const startedMs = processorMs()
    expect(findOutcome(await service.call({ url: '/nowhere', body }))).toBe('404 not_found')
    expect(processorMs() - startedMs).toBeLessThan(500)
  })

  // An unknown variable of any type only warns.
  test('an unknown variable that holds constructor.prototype only warns', async () => {
    for (const text of [
      '{"constructor":{"prototype":1}}',
      '{"x":{"constructor":{"prototype":{}}}}',
    ]) {
      const response = await service.call({ url: `/v1/score/${slug}`, token: key, body: text })
      expect(response.statusCode, text).toBe(200)
      // The other is that the request names no feature of the model.
      expect(formatJson(response).warnings).toMatchObject([
        expect.stringMatching(/^no_features: /),
        { type: 'unknown_variable' },
      ])
    }
  })

  // http/refusals.test.ts
  test('the method QUERY is one that no path takes', async () => {
    const response = await service.inject({ method: 'QUERY', url: '/v1/keys' })
    expect(findOutcome(response)).toBe('405 not_found')
  })

  // 401 comes before everything, and a slug is a slug at any length.
  test('a slug of 5,000 characters is one that does not exist', async () => {
    const url = `/v1/score/${'a'.repeat(5_000)}`
    expect(findOutcome(await service.call({ url, body: {} }))).toBe('401 invalid_api_key')
    expect(findOutcome(await service.call({ url, body: {}, token: key }))).toBe(
      '404 deployment_not_found',
    )
  })

  // The number in the message is that of the faults.
  test('the message counts the faults that are not listed, too', async () => {
    const features = Array.from({ length: 1000 }, (_, n) => ({ name: `f${n}` }))
    const body = { spec: { ...spec, features }, environment: 'staging', auto_deploy: false }
    const response = await service.call({ url: '/v1/models/deploy', token: owner, body })
    expect(formatRefusal(response).message).toContain('2000 faults')
  })

  // A client that sends a huge spec must get an answer that it can read.
  test('a fault names a category by its beginning', async () => {
    const value = 'x'.repeat(1_000_000)
    const bins = [
      { value, points: 1 },
      { value, points: 2 },
    ]
    const twice = card([{ name: 'a', type: 'categorical', bins }])
    const body = { spec: twice, environment: 'staging', auto_deploy: false }
    const response = await service.call({ url: '/v1/models/deploy', token: owner, body })
    expect(findOutcome(response)).toBe('422 invalid_spec')
    expect(response.body.length).toBeLessThan(10_000)
  })

  // What must be sent instead is both.
  test('the refusal of a wrong environment names both environments', async () => {
    const body = { name: 'k', environment: 'test' }
    const refusal = formatRefusal(await service.call({ url: '/v1/keys', token: owner, body }))
    expect(refusal.message).toContain('staging')
    expect(refusal.details).toHaveLength(1)
  })
})

// The operator's limit holds for every route.
test('BODY_LIMIT_BYTES below the limit of a route holds for the route, too', async () => {
  const service = await TestService.start(firstBackend, { env: { BODY_LIMIT_BYTES: '2048' } })
  const body = { email: 'a', password: 'x'.repeat(1024), padding: 'x'.repeat(2048) }
  const response = await service.call({ url: '/api/auth/login', body })
  await service.close()
  expect(findOutcome(response)).toBe('413 payload_too_large')
})
