import { beforeAll, describe, expect, test } from 'vitest'
import { card, numeric } from '../../../support/cards/cards.ts'
import {
  naiveSummary,
  readStats,
  type StatsAnswer,
  statsWith,
} from '../../../support/expect/stats.ts'
import { backends } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'

const HOUR_MS = 3_600_000
const START = Date.parse('2026-03-04T00:00:00.000Z')

/** Wherever the test puts it; never behind what was. */
let nowMs = START
const clock = { epochMs: () => nowMs, monotonicMs: () => performance.now() }

/** Bins from -400 to 1,000 points, some of them ends of buckets; every other bin has a grade. */
const POINTS = [-400, -150.25, -100, -0.5, 0, 99.9, 100, 512.75, 600, 650.5, 699.999, 700, 1_000]
const spec = (version: string, shift = 0) =>
  card(
    [
      numeric(
        'income',
        POINTS.map((points, bin) => [
          `(${bin === 0 ? '-Infinity' : bin}, ${bin === POINTS.length - 1 ? 'Infinity)' : `${bin + 1}]`}`,
          points,
        ]),
      ),
    ],
    {
      version,
      base_points: shift,
      risk_grades: [{ grade: 'good \u2713', min_score: 600, max_score: null }],
    },
  )
/** An applicant for a bin. */
const applicant = (bin: number) => ({ income: bin + 0.5 })

interface Answered {
  readonly requestId: string
  readonly id: string | number | null
  readonly score: number
  readonly pd: number
  readonly grade: string | null
  readonly scoredAt: string
}

interface ScoredRecord {
  readonly id: string | number | null
  readonly score: number
  readonly pd: number
  readonly risk_grade: string | null
}

describe.each(backends)('on $name', (backend) => {
  const service = TestService.forSuite(backend, { clock })
  let owner: string
  let key: string

  beforeAll(async () => {
    owner = await service.signIn()
    key = await service.createKey(owner, { scopes: ['score', 'read'] })
  })

  async function score(slug: string, bin: number): Promise<Answered> {
    const url = `/v1/score/${slug}`
    const body = (await service.call({ url, token: key, body: applicant(bin) })).json()
    const { request_id: requestId, score, pd, risk_grade: grade, scored_at: scoredAt } = body
    return { requestId, id: null, score, pd, grade, scoredAt }
  }

  async function scoreBatch(slug: string, bins: readonly number[]): Promise<Answered[]> {
    // Texts that PostgreSQL has no characters for, numbers, and none.
    const ids = [`\u0000 "id":`, '\ud800', 4711.5, undefined, ']}', { no: 'id' }]
    const records = bins.map((bin, index) => ({ id: ids[index % 6], ...applicant(bin) }))
    const url = `/v1/score/${slug}/batch`
    const body = (await service.call({ url, token: key, body: { records } })).json()
    return body.results.map((result: ScoredRecord) => ({
      requestId: body.request_id,
      id: result.id,
      score: result.score,
      pd: result.pd,
      grade: result.risk_grade,
      scoredAt: body.scored_at,
    }))
  }

  /** Averages by their rounding, the percentile within a percent, all else exactly. */
  function expectSummary(stats: StatsAnswer, answered: readonly Answered[]): void {
    const latencies = new Map(stats.recent_scores.map((one) => [one.request_id, one.latency_ms]))
    const results = answered.map((one) => ({
      ...one,
      latencyMs: latencies.get(one.requestId) ?? Number.NaN,
    }))
    const expected = naiveSummary(results)
    const p95 = expected.p95_latency_ms ?? Number.NaN
    expect(stats.summary).toEqual({
      ...expected,
      avg_score: expect.closeTo(expected.avg_score ?? Number.NaN, 9),
      avg_pd: expect.closeTo(expected.avg_pd ?? Number.NaN, 12),
      avg_latency_ms: expect.closeTo(expected.avg_latency_ms ?? Number.NaN, 9),
      p95_latency_ms: expect.any(Number),
    })
    expect(Math.abs((stats.summary.p95_latency_ms ?? Number.NaN) - p95) / p95).toBeLessThan(0.01)
    expect(Object.keys(stats.summary.score_buckets)).toEqual(Object.keys(expected.score_buckets))
  }

  const readRecent = (answered: readonly Answered[], limit: number) =>
    answered
      .toReversed()
      .slice(0, limit)
      .map((one) => ({
        request_id: one.requestId,
        id: one.id,
        score: one.score,
        risk_grade: one.grade,
        pd: one.pd,
        latency_ms: expect.any(Number),
        scored_at: one.scoredAt,
      }))

  test('a deployment that has answered nothing has empty stats', async () => {
    const slug = await service.deploy(owner, spec('1.0.0'))
    const empty = {
      summary: {
        total_requests: 0,
        avg_score: null,
        avg_latency_ms: null,
        p95_latency_ms: null,
        min_score: null,
        max_score: null,
        avg_pd: null,
        last_request_at: null,
        score_buckets: {},
      },
      recent_scores: [],
    }
    expect(await readStats(service, owner, slug)).toEqual(empty)
    const query = { from: '2026-01-01T00:00:30Z', to: '2026-06-01T00:00:30Z' }
    expect(await readStats(service, owner, slug, query)).toEqual(empty)
    // A batch without records answers for nobody.
    await scoreBatch(slug, [])
    await score(await service.deploy(owner, spec('1.0.0')), 3)
    expect(await readStats(service, owner, slug, query)).toEqual(empty)
  })

  // The page that a lender looks at each morning.
  test('the summary is that of every result that was served', async () => {
    const slug = await service.deploy(owner, spec('1.0.0'))
    const answered: Answered[] = []
    for (const bin of POINTS.keys()) {
      nowMs += 1_234
      answered.push(await score(slug, bin))
    }
    nowMs += 24 * HOUR_MS
    answered.push(...(await scoreBatch(slug, [3, 3, 8, 9, 10, 11, 0])))
    nowMs += HOUR_MS
    answered.push(await score(slug, 9))
    const stats = await statsWith(service, key, slug, answered.length)
    expectSummary(stats, answered)
    expect(stats.recent_scores).toEqual(readRecent(answered, 100))

    // A second look at the same rows, which are now merged with what is there.
    nowMs += 5
    answered.push(await score(slug, 1), ...(await scoreBatch(slug, [2])))
    expectSummary(await statsWith(service, key, slug, answered.length), answered)
  })

  test('recent scores are the newest, 20 unless asked otherwise, over all batches and days', async () => {
    const slug = await service.deploy(owner, spec('1.0.0'))
    const answered: Answered[] = [await score(slug, 1)]
    nowMs += 40 * 24 * HOUR_MS
    answered.push(
      ...(await scoreBatch(
        slug,
        Array.from({ length: 90 }, (_, n) => n % 13),
      )),
    )
    for (const bin of [5, 6, 7]) {
      nowMs += 1
      answered.push(await score(slug, bin))
    }
    await statsWith(service, key, slug, 94)
    const recent = async (query: Record<string, number>) =>
      (await readStats(service, owner, slug, query)).recent_scores
    expect(await recent({})).toEqual(readRecent(answered, 20))
    expect(await recent({ recent: 1 })).toEqual(readRecent(answered, 1))
    expect(await recent({ recent: 3 })).toEqual(readRecent(answered, 3))
    expect(await recent({ recent: 93 })).toEqual(readRecent(answered, 93))
    expect(await recent({ recent: 100 })).toEqual(readRecent(answered, 100))
  })

  // Whole days, hours and minutes come from rollups, the rest from the log: none may be missed or
  // doubled.
  test('from and to are exact to the millisecond', async () => {
    const slug = await service.deploy(owner, spec('1.0.0'))
    nowMs = Math.ceil(nowMs / (24 * HOUR_MS)) * 24 * HOUR_MS + 22 * HOUR_MS
    const answered: Answered[] = []
    const stepsMs = [
      0,
      1,
      999,
      29_000,
      30_000,
      59_999,
      1,
      60_000,
      17 * 60_000,
      HOUR_MS,
      1,
      HOUR_MS,
      5 * HOUR_MS,
      26 * HOUR_MS,
      1,
      49 * HOUR_MS,
      61_000,
    ]
    for (const [index, stepMs] of stepsMs.entries()) {
      nowMs += stepMs
      const bin = index % POINTS.length
      if (index % 3 === 0) answered.push(...(await scoreBatch(slug, [bin, 9])))
      else answered.push(await score(slug, bin))
    }
    await statsWith(service, key, slug, answered.length)
    const moments = [...new Set(answered.map(({ scoredAt }) => Date.parse(scoredAt)))]
    const edges = moments.flatMap((ms) => [ms - 1, ms, ms + 1])
    const pick = (n: number) => edges[(n * 7919) % edges.length] ?? 0
    for (let round = 0; round < 60; round++) {
      const [fromMs, toMs] = [pick(round), pick(round + 31)].toSorted((a, b) => a - b)
      const [from, to] = [fromMs, toMs].map((ms) => new Date(ms ?? 0).toISOString())
      const query = round % 5 === 0 ? { from } : round % 5 === 1 ? { to } : { from, to }
      const within = answered.filter(
        ({ scoredAt }) =>
          (query.from === undefined || scoredAt >= query.from) &&
          (query.to === undefined || scoredAt < query.to),
      )
      const asked = Object.fromEntries(Object.entries(query).filter(([, text]) => text)) as Record<
        string,
        string
      >
      const stats = await readStats(service, owner, slug, { ...asked, recent: 100 })
      if (within.length === 0) expect(stats.summary.total_requests).toBe(0)
      else expectSummary(stats, within)
      expect(stats.recent_scores).toEqual(readRecent(within, 100))
    }
  })

  test('a moment may have any zone and any number of digits', async () => {
    const slug = await service.deploy(owner, spec('1.0.0'))
    nowMs = Math.ceil(nowMs / HOUR_MS) * HOUR_MS + 61_500
    await score(slug, 1)
    await statsWith(service, key, slug, 1)
    const at = new Date(nowMs).toISOString()
    const zoned = `${new Date(nowMs + 2 * HOUR_MS).toISOString().slice(0, -1)}+02:00`
    const total = async (query: Record<string, string>) =>
      (await readStats(service, owner, slug, query)).summary.total_requests
    expect(await total({ from: at })).toBe(1)
    expect(await total({ from: zoned })).toBe(1)
    expect(await total({ to: zoned })).toBe(0)
    expect(await total({ from: at.replace('Z', '001Z') })).toBe(0)
    expect(await total({ to: at.replace('Z', '001Z') })).toBe(1)
    expect(await total({ from: at, to: at })).toBe(0)
    expect(await total({ from: '0000-01-01T00:00:00Z', to: '9999-12-31T23:59:59.999999Z' })).toBe(1)
  })

  // Stats tell what was decided; a challenger in the shadow decides nothing.
  test('only the model that answered counts', async () => {
    const slug = await service.deploy(owner, spec('1.0.0'))
    const body = { spec: spec('2.0.0', 100_000), environment: 'production', auto_deploy: false }
    const deployed = await service.call({ url: '/v1/models/deploy', token: owner, body })
    const { model_id } = deployed.json()
    const traffic = (order: object) =>
      service.call({
        method: 'PATCH',
        url: `/v1/deployments/${slug}/traffic`,
        token: owner,
        body: order,
      })
    await traffic({ action: 'toggle_shadow', shadow_mode: true })
    await traffic({ action: 'add_challenger', model_id, traffic_pct: 50 })
    const answered = [await score(slug, 9), ...(await scoreBatch(slug, [9, 10]))]
    expect(answered.map(({ score: value }) => value)).toEqual([650.5, 650.5, 699.999])
    expectSummary(await statsWith(service, key, slug, 3), answered)

    // In a live split it is whichever was drawn.
    await traffic({ action: 'toggle_shadow', shadow_mode: false })
    for (let n = 0; n < 12; n++) {
      nowMs += 1
      answered.push(await score(slug, 9), ...(await scoreBatch(slug, [8, 11])))
    }
    const stats = await statsWith(service, key, slug, answered.length)
    expect(stats.summary.max_score).toBeGreaterThan(100_000)
    expectSummary(stats, answered)
    // In the order of the ids where requests share a millisecond.
    const scores = stats.recent_scores.map((one) => one.score)
    expect(scores.toSorted()).toEqual(answered.map((one) => one.score).toSorted())
  })

  test('scores of any size are summed up', async () => {
    const huge = card(
      [
        numeric('income', [
          ['(-Infinity, 1]', 1e308],
          ['(1, 2]', -1e308],
          ['(2, Infinity)', 5e-324],
        ]),
      ],
      { base_points: 0 },
    )
    const slug = await service.deploy(owner, huge)
    nowMs = Math.ceil(nowMs / HOUR_MS) * HOUR_MS + 61_500
    for (const bin of [0, 0, 0, 1, 2]) await score(slug, bin)
    const expected = {
      total_requests: 5,
      min_score: -1e308,
      max_score: 1e308,
      score_buckets: { '-Infinity--1000000': 1, '0-100': 1, '1000000-Infinity': 3 },
    }
    const { summary } = await statsWith(service, key, slug, 5)
    expect(summary).toMatchObject(expected)
    expect((summary.avg_score ?? 0) / 4e307).toBeCloseTo(1, 12)
    const ofLog = await readStats(service, owner, slug, { from: new Date(nowMs).toISOString() })
    expect(ofLog.summary).toMatchObject(expected)
    expect((ofLog.summary.avg_score ?? 0) / 4e307).toBeCloseTo(1, 12)
  })
})
