import { beforeAll, describe, expect, test } from 'vitest'
import { VERSION } from '../../../src/platform/version.ts'
import { card, categorical, numeric, plainFeature } from '../../support/cards/cards.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'

const spec = card([plainFeature('income')])
const PATHS = ['/livez', '/readyz', '/metrics']

describe.each(backends)('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  let owner: string
  let slug: string
  let key: string

  beforeAll(async () => {
    owner = await service.signIn()
    slug = await service.deploy(owner, spec)
    key = await service.createKey(owner)
  })

  const get = (url: string) => service.call({ method: 'GET', url })

  /** Value of one metric, by its whole name with labels. */
  async function readMetric(name: string): Promise<number> {
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

  test.each(PATHS)('%s answers HEAD with the headers of GET and no body', async (url) => {
    const head = await service.inject({ method: 'HEAD', url })
    const { headers } = await get(url)
    expect([head.statusCode, head.body]).toEqual([200, ''])
    expect(head.headers['content-type']).toBe(headers['content-type'])
  })

  test('a replica with its database is ready, and names what it checked', async () => {
    expect((await get('/livez')).json()).toEqual({ status: 'ok', version: VERSION })
    const ready = (await get('/readyz')).json()
    expect(ready.status).toBe('ready')
    expect(ready.checks).toMatchObject({ database: 'ok', process: 'ok' })
  })

  test('a check that fails makes the replica not ready, with its reason', async () => {
    let reason: string | null = 'full'
    service.services.telemetry.readiness.add('made up', () => reason)
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

  // Dashboards for any Node program ask for these names.
  test('the process has the metrics that clients of Prometheus have agreed on', async () => {
    const names = [
      'process_cpu_user_seconds_total',
      'process_cpu_system_seconds_total',
      'process_cpu_seconds_total',
      'process_start_time_seconds',
      'process_resident_memory_bytes',
      'nodejs_eventloop_lag_seconds',
      ...['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'].map(
        (figure) => `nodejs_eventloop_lag_${figure}_seconds`,
      ),
      'nodejs_heap_size_total_bytes',
      'nodejs_heap_size_used_bytes',
      'nodejs_external_memory_bytes',
      'nodejs_heap_space_size_used_bytes{space="old"}',
    ]
    for (const name of names) expect(await readMetric(name), name).toBeGreaterThanOrEqual(0)
    const nowSec = Date.now() / 1000
    const startSec = await readMetric('process_start_time_seconds')
    expect(startSec).toBeGreaterThan(nowSec - process.uptime() - 2)
    expect(startSec).toBeLessThanOrEqual(nowSec)
    const userSec = await readMetric('process_cpu_user_seconds_total')
    expect(await readMetric('process_cpu_seconds_total')).toBeGreaterThan(userSec)
    const residentBytes = await readMetric('process_resident_memory_bytes')
    expect(residentBytes).toBeGreaterThan(await readMetric('nodejs_heap_size_used_bytes'))
    const { body } = await get('/metrics')
    expect(body).toContain(`nodejs_version_info{version="${process.version}"`)
  })

  // Whoever renames a column at the client's end sees it here, and not in next quarter's defaults.
  test('values of applicants are counted by their outcome, on every way to a score', async () => {
    const own = await service.deploy(
      owner,
      card([numeric('income', [['(0, 10]', 1]]), categorical('home', [['own', 2]])]),
    )
    const applicants = [
      { income: 5, home: 'own' },
      { income: 50, home: 'tent' },
      { income: '5', home: null, pet: 1, toy: 2 },
      { pet: 1 },
    ]
    const outcomes = ['matched', 'missing', 'unseen_category', 'no_bin', 'not_a_number']
    const names = [
      ...outcomes.map((outcome) => `scoreline_applicant_values_total{outcome="${outcome}"}`),
      'scoreline_unknown_variables_total',
      'scoreline_applicants_without_features_total',
    ]
    const valuesNow = async () => {
      const read: number[] = []
      for (const name of names) read.push(await readMetric(name))
      return read
    }
    const risen = async (work: () => Promise<unknown>) => {
      const before = await valuesNow()
      await work()
      return (await valuesNow()).map((value, index) => value - (before[index] ?? 0))
    }
    const call = (url: string, body: object) => service.call({ url, token: key, body })
    const expected = [2, 3, 1, 1, 1, 3, 1]
    const each = async (makeBody: (applicant: object) => [string, object]) => {
      for (const applicant of applicants) await call(...makeBody(applicant))
    }
    expect(await risen(() => each((body) => [`/v1/score/${own}`, body]))).toEqual(expected)
    const guide = (applicant: object): [string, object] => [
      '/api/v1/score',
      { scorecard_id: own, applicant },
    ]
    expect(await risen(() => each(guide))).toEqual(expected)
    const batch = `/v1/score/${own}/batch`
    expect(await risen(() => call(batch, { records: applicants }))).toEqual(expected)
    const refused = [...applicants, { income: true }]
    expect(await risen(() => call(batch, { records: refused }))).toEqual(expected.map(() => 0))
    const url = `/v1/deployments/${own}`
    await service.call({ method: 'PATCH', url, token: owner, body: { strict_mode: true } })
    const strict = await risen(() => each((body) => [`/v1/score/${own}`, body]))
    expect(strict).toEqual([2, 0, 1, 1, 0, 0, 0])
  })

  test('requests, scores, batches and their cache lookups are counted', async () => {
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
          Object.entries(names).map(async ([short, name]) => [
            short,
            (await readMetric(name)) || 0,
          ]),
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
      single: 2,
      batch: 2,
      refused: 1,
      unknown: 1,
      records: 5,
      hits: 4,
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

  test('calls to the database are counted, and none is in flight afterwards', async () => {
    const calls = () => readMetric('scoreline_database_calls_total{outcome="ok"}')
    const ofSignIn = async () => {
      const before = await calls()
      await service.signIn()
      return (await calls()) - before
    }
    // Work in the background calls now and then, too.
    await expect.poll(ofSignIn).toBe(2)
    await expect.poll(() => readMetric('scoreline_database_calls_in_flight')).toBe(0)
    expect(await readMetric('scoreline_database_away_seconds')).toBe(0)
  })
})
