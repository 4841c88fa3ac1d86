import { hash } from 'node:crypto'
import type { LightMyRequestResponse } from 'fastify'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { card, categorical, numeric, plainFeature } from '../../support/cards/cards.ts'
import { formatJson, formatRefusal } from '../../support/expect/answers.ts'
import { type MemoryRecord, MemoryScoreLog } from '../../support/score-log/memory-score-log.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'

const GRADES = [
  { grade: 'high "A"', min_score: 100.5, max_score: null },
  { grade: 'low Ü', min_score: null, max_score: 100 },
]
const champion = card(
  [
    plainFeature('income'),
    categorical('purpose', [
      ['car', 0.1],
      ['Missing', -7],
    ]),
  ],
  { risk_grades: GRADES },
)
const challenger = card([
  numeric('income', [['(0, 10]', 3.3]]),
  numeric('age', [['(0, Infinity)', 1e-7]]),
])
const ODD_ID = 'a "quoted" \\ \u0000 \ud800 Ü'
const RECORDS = [
  { id: ODD_ID, income: 5, purpose: 'car' },
  { id: -12.5, income: -5 },
  { id: { no: 'id' }, income: 50, purpose: 'boat', shoe_size: 44 },
  { purpose: null },
]

/** Who answers, and what else scores. */
interface Deployed {
  readonly slug: string
  readonly modelIds: readonly string[]
}

describe.each(backends)('on $name', (backend) => {
  const log = new MemoryScoreLog()
  const service = TestService.forSuite(backend, { scoreLog: log })
  let key: string
  let alone: Deployed
  let shadow: Deployed
  let split: Deployed

  beforeAll(async () => {
    const token = await service.signIn()
    key = await service.createKey(token)
    const post = async (url: string, body: object) =>
      formatJson(await service.call({ url, token, body }))
    const change = async (slug: string, body: object) => {
      const url = `/v1/deployments/${slug}/traffic`
      const response = await service.call({ method: 'PATCH', url, token, body })
      expect(response.statusCode, response.body).toBe(200)
    }
    const deployed = async (traffic: readonly object[]): Promise<Deployed> => {
      const order = { spec: champion, environment: 'production', auto_deploy: true }
      const { deployment, model_id } = await post('/v1/models/deploy', order)
      const { slug } = deployment
      const other = { spec: challenger, environment: 'production', auto_deploy: false }
      const registered = traffic.length === 0 ? null : await post('/v1/models/deploy', other)
      for (const order of traffic) {
        const action = 'shadow_mode' in order ? 'toggle_shadow' : 'add_challenger'
        const challenging = action === 'add_challenger' && { model_id: registered.model_id }
        await change(slug, { action, ...order, ...challenging })
      }
      return { slug, modelIds: [model_id, ...(registered === null ? [] : [registered.model_id])] }
    }
    alone = await deployed([])
    shadow = await deployed([{ shadow_mode: true }, { traffic_pct: 10 }])
    split = await deployed([{ traffic_pct: 50 }])
  })

  beforeEach(() => {
    log.records.length = 0
    log.isFull = false
    log.safe = null
  })

  const score = (path: string, body: object, headers: Record<string, string> = {}) =>
    service.call({ url: path, token: key, body, headers })

  /** The one record that an answer has left; its facts must be those of the answer. */
  function readRecord(
    response: LightMyRequestResponse,
    { slug, modelIds }: Deployed,
  ): MemoryRecord {
    const answer = formatJson(response)
    expect(response.statusCode, response.body).toBe(200)
    expect(log.records).toHaveLength(1)
    const [record] = log.records
    if (record === undefined) throw new Error('there is no record')
    expect(record).toMatchObject({ requestId: answer.request_id, deploymentId: slug })
    expect(new Date(record.scoredAtMs).toISOString()).toBe(answer.scored_at)
    expect(record.models.map(({ modelId }) => modelId)).toEqual(modelIds)
    expect(record.latencyMs).toBeGreaterThan(0)
    expect(record.latencyMs).toBeLessThan(10_000)
    return record
  }

  /** What the model that answered has in the record, applicant by applicant, as answers hold it. */
  function readServed({ rows, served }: MemoryRecord) {
    return rows.map(({ results }) => {
      const { score, pd, grade, warningCount } = results[served] ?? {}
      return { score, pd, risk_grade: grade, warnings: warningCount }
    })
  }

  const readAnswered = ({ score, pd, risk_grade, warnings }: Record<string, unknown>) => ({
    score,
    pd,
    risk_grade,
    warnings: (warnings as unknown[]).length,
  })

  // The log must hold what the lender was told, not what it is like.
  test.each(RECORDS)('a single answer is logged as it was given: %j', async (applicant) => {
    const { id: _id, ...values } = applicant
    const response = await score(`/v1/score/${alone.slug}`, values)
    const record = readRecord(response, alone)
    expect(record).toMatchObject({ isBatch: false, bucket: null, served: 0, reference: null })
    expect(record.rows.map(({ id }) => id)).toEqual([null])
    expect(readServed(record)).toEqual([readAnswered(formatJson(response))])
  })

  test('a batch is one record, with the ids, in the order of the answer', async () => {
    const response = await score(`/v1/score/${alone.slug}/batch`, { records: RECORDS })
    const { results } = formatJson(response)
    const record = readRecord(response, alone)
    expect(record.isBatch).toBe(true)
    expect(record.rows.map(({ id }) => id)).toEqual([ODD_ID, -12.5, null, null])
    expect(readServed(record)).toEqual(results.map(readAnswered))
    expect(record.rows.map(({ results }) => results[0]?.cells)).toEqual([
      [5, 4],
      [4, 3],
      [5, 0],
      [3, 3],
    ])
  })

  test('an empty batch is logged', async () => {
    const response = await score(`/v1/score/${alone.slug}/batch`, { records: [] })
    expect(readRecord(response, alone)).toMatchObject({ isBatch: true, rows: [] })
  })

  test('the forms of /api/v1 are logged alike', async () => {
    const single = { scorecard_id: alone.slug, applicant: { income: 5 } }
    expect(readServed(readRecord(await score('/api/v1/score', single), alone))).toHaveLength(1)
    log.records.length = 0
    const batch = { scorecard_id: alone.slug, applicants: RECORDS }
    expect(readServed(readRecord(await score('/api/v1/score/batch', batch), alone))).toHaveLength(4)
  })

  // The lender finds the score again by the number of the application.
  test.each([
    ['/v1/score', (slug: string) => [`/v1/score/${slug}`, { income: 5 }] as const],
    [
      '/api/v1/score',
      (slug: string) =>
        ['/api/v1/score', { scorecard_id: slug, applicant: { income: 5 } }] as const,
    ],
  ])('the reference of a single score is logged as it was sent to %s', async (_, call) => {
    const [path, body] = call(alone.slug)
    for (const reference of ['7', '~!/loan:"4711"\\', 'x'.repeat(128)]) {
      log.records.length = 0
      const response = await score(path, body, { 'x-reference-id': reference })
      expect(readRecord(response, alone).reference).toBe(reference)
    }
    log.records.length = 0
    for (const reference of ['', 'x'.repeat(129), 'a b', 'a, b', 'a\tb', 'é']) {
      const response = await score(path, body, { 'x-reference-id': reference })
      expect(formatRefusal(response), reference).toMatchObject({
        status: 400,
        error: 'invalid_request',
      })
    }
    expect(log.records).toEqual([])
  })

  test('a batch with the header of a reference is refused: its records have their own', async () => {
    for (const [path, body] of [
      [`/v1/score/${alone.slug}/batch`, { records: RECORDS }],
      ['/api/v1/score/batch', { scorecard_id: alone.slug, applicants: RECORDS }],
    ] as const) {
      const response = await score(path, body, { 'x-reference-id': 'loan-7' })
      expect(formatRefusal(response)).toMatchObject({ status: 400, error: 'invalid_request' })
    }
    expect(log.records).toEqual([])
  })

  test('a record names the spec by the hash of its bytes, and the version of the engine', async () => {
    const record = readRecord(await score(`/v1/score/${shadow.slug}`, { income: 5 }), shadow)
    const sha256 = (spec: object) => hash('sha256', JSON.stringify(spec), 'hex')
    expect(record.models.map(({ specSha256 }) => specSha256)).toEqual([
      sha256(champion),
      sha256(challenger),
    ])
    expect(record.engineVersion).toBe(1)
  })

  test('in shadow mode the challenger is logged as its shadow score says', async () => {
    const response = await score(`/v1/score/${shadow.slug}/batch`, { records: RECORDS })
    const { results } = formatJson(response)
    const record = readRecord(response, shadow)
    const [, other] = record.models
    const shown = results.map((result: { shadow_scores: object[] }) => result.shadow_scores[0])
    expect(record.served).toBe(0)
    expect(other?.role).toBe('challenger')
    expect(shown).toEqual(
      shown.map((one: object, index: number) => ({
        ...one,
        challenger_id: other?.challengerId,
        score: record.rows[index]?.results[1]?.score,
        pd: record.rows[index]?.results[1]?.pd,
        risk_grade: record.rows[index]?.results[1]?.grade,
      })),
    )
  })

  test("a value that only the challenger can't take is logged without a result of it", async () => {
    const response = await score(`/v1/score/${shadow.slug}`, { income: 5, age: true })
    const record = readRecord(response, shadow)
    expect(record.rows).toMatchObject([{ results: [{ score: 102 - 7 }, null] }])
  })

  test('in a live split the record says who answered, by which bucket, and has both', async () => {
    const servedBy = new Map<string, MemoryRecord>()
    for (let subject = 0; subject < 40; subject++) {
      log.records.length = 0
      const headers = { 'x-routing-key': `applicant ${subject}` }
      const response = await score(`/v1/score/${split.slug}`, { income: 5 }, headers)
      const record = readRecord(response, split)
      expect(readServed(record)).toEqual([readAnswered(formatJson(response))])
      expect(record.bucket).toBeGreaterThanOrEqual(0)
      const [row] = record.rows
      expect(row?.results.map((result) => result?.score)).toEqual([95, 103.3])
      servedBy.set(record.models[record.served]?.role ?? '', record)
    }
    expect([...servedBy.keys()].sort()).toEqual(['challenger', 'champion'])
  })

  test('a request that is refused leaves no record', async () => {
    const path = `/v1/score/${alone.slug}`
    const refusals = [
      await score(path, { income: [] }),
      await score(path, { income: 1, strict_mode: true }),
      await score(`${path}/batch`, { records: [{ income: 1 }, { income: true }] }),
      await score(`${path}/batch`, { records: Array.from({ length: 1_001 }, () => ({})) }),
      await score('/v1/score/dep_unknown', { income: 1 }),
      await service.call({ url: path, token: 'no key', body: { income: 1 } }),
    ]
    expect(refusals.map(({ statusCode }) => statusCode)).toEqual([400, 422, 400, 413, 404, 401])
    expect(log.records).toEqual([])
  })

  test('without room in the log the answer is 503 with Retry-After, single or batch', async () => {
    log.isFull = true
    for (const [path, body] of [
      [`/v1/score/${alone.slug}`, { income: 5 }],
      [`/v1/score/${alone.slug}/batch`, { records: RECORDS }],
    ] as const) {
      const response = await score(path, body)
      expect(formatRefusal(response)).toMatchObject({ status: 503, error: 'unavailable' })
      expect(response.headers['retry-after']).toBe('1')
    }
  })

  // An answer that comes before its record is safe is the one that a crash loses.
  test('an answer waits until its record is safe', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    log.safe = promise
    let isAnswered = false
    const response = score(`/v1/score/${alone.slug}`, { income: 5 }).then((answer) => {
      isAnswered = true
      return answer
    })
    while (log.records.length === 0) await new Promise((next) => setImmediate(next))
    for (let turn = 0; turn < 20; turn++) await new Promise((next) => setImmediate(next))
    expect(isAnswered).toBe(false)
    resolve()
    expect((await response).statusCode).toBe(200)
  })
})
