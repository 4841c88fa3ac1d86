import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { card, plainFeature } from '../../support/cards.ts'
import { backends } from '../../support/databases.ts'
import { TestService } from '../../support/service.ts'

const spec = card([plainFeature('income')])
const PATHS = ['/livez', '/readyz', '/metrics']

describe.each(backends)('on $name', (backend) => {
  let service: TestService
  let slug: string
  let key: string

  beforeAll(async () => {
    service = await TestService.start(backend)
    const owner = await service.signIn()
    slug = await service.deploy(owner, spec)
    key = await service.createKey(owner)
  })
  afterAll(() => service.close())

  const get = (url: string) => service.call({ method: 'GET', url })

  /** Value of one figure, by its whole name with labels. */
  async function figure(name: string): Promise<number> {
    const { body } = await get('/metrics')
    const line = body.split('\n').find((text) => text.startsWith(`${name} `))
    return Number(line?.slice(name.length + 1) ?? Number.NaN)
  }

  // Who restarts and balances replicas has no key, and asks every second.
  test.each(PATHS)('%s answers without a key and counts against no quota', async (url) => {
    const response = await get(url)
    expect(response.statusCode, response.body).toBe(200)
    expect(response.headers).not.toHaveProperty('x-ratelimit-limit')
    expect(response.headers).not.toHaveProperty('x-ratelimit-remaining')
    expect(response.headers['x-request-id']).toMatch(/^req_/)
  })

  test('a replica with its database is ready, and says what it looked at', async () => {
    expect((await get('/livez')).json()).toEqual({ status: 'ok' })
    const ready = (await get('/readyz')).json()
    expect(ready.status).toBe('ready')
    expect(ready.checks).toMatchObject({ database: 'ok', process: 'ok' })
  })

  test('a check that fails makes the replica not ready, with its reason', async () => {
    let reason: string | null = 'full'
    service.services.operations.readiness.add('made up', () => reason)
    const refused = await get('/readyz')
    expect(refused.statusCode).toBe(503)
    expect(refused.json()).toMatchObject({ status: 'not_ready', checks: { 'made up': 'full' } })
    expect((await get('/livez')).statusCode).toBe(200)
    reason = null
    expect((await get('/readyz')).statusCode).toBe(200)
  })

  test('the text is what Prometheus reads', async () => {
    const { body, headers } = await get('/metrics')
    expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(body.endsWith('\n')).toBe(true)
    for (const line of body.split('\n')) {
      expect(line).toMatch(
        /^$|^# (HELP|TYPE) \w+ |^\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? (-?[\d.]+(e[-+]\d+)?|\+Inf|NaN)$/,
      )
    }
  })

  test('requests, scores, batches and what they found in memory are counted', async () => {
    const names = {
      single: 'scoreline_score_duration_seconds_count{kind="single"}',
      batch: 'scoreline_score_duration_seconds_count{kind="batch"}',
      refused: 'scoreline_request_duration_seconds_count{operation="scoring.score",status="401"}',
      unknown: 'scoreline_request_duration_seconds_count{operation="none",status="404"}',
      records: 'scoreline_batch_records_sum',
      hits: 'scoreline_cache_lookups_total{cache="deployments",outcome="hit"}',
    }
    const call = (url: string, body: object, token = key) => service.call({ url, token, body })
    await call(`/v1/score/${slug}`, {})
    const counts = async () =>
      Object.fromEntries(
        await Promise.all(
          Object.entries(names).map(async ([short, name]) => [short, (await figure(name)) || 0]),
        ),
      )
    const before = await counts()
    await call(`/v1/score/${slug}`, { income: 1 })
    await call('/api/v1/score', { scorecard_id: slug, applicant: { income: 1 } })
    await call(`/v1/score/${slug}/batch`, { records: [{}, {}, {}] })
    await call('/api/v1/score/batch', { scorecard_id: slug, applicants: [{}, {}] })
    await call(`/v1/score/${slug}`, {}, 'sk_none')
    await call('/v1/nothing', {})
    const after = await counts()
    for (const [name, more] of Object.entries({
      ...{ single: 2, batch: 2, refused: 1, unknown: 1, records: 5, hits: 4 },
    })) {
      expect(after[name] - before[name], name).toBe(more)
    }
  })

  // A label with a team, key or slug in it makes a series for each, until monitoring falls over.
  test('labels have few values, whatever callers send', async () => {
    const seriesAfter = async (rounds: number) => {
      for (let round = 0; round < rounds; round++) {
        const owner = await service.signIn()
        const another = await service.createKey(owner)
        const own = await service.deploy(owner, spec)
        await service.call({ url: `/v1/score/${own}`, token: another, body: { income: round } })
        await service.call({ url: `/v1/score/dep_${round}`, token: another, body: {} })
        await service.call({ url: `/v1/${round}`, token: another, body: {} })
      }
      const { body } = await get('/metrics')
      expect(body).not.toMatch(/dep_|key_|team_|usr_|sk_|@/)
      return body.split('\n').length
    }
    // A scrape is not in its own answer.
    await get('/metrics')
    const few = await seriesAfter(1)
    expect(await seriesAfter(4)).toBe(few)
  })

  test('calls of the database are counted, and none is in flight afterwards', async () => {
    const before = await figure('scoreline_database_calls_total{outcome="ok"}')
    await service.signIn()
    expect(await figure('scoreline_database_calls_total{outcome="ok"}')).toBe(before + 2)
    expect(await figure('scoreline_database_calls_in_flight')).toBe(0)
    expect(await figure('scoreline_database_away_seconds')).toBe(0)
  })
})
