import { describe, expect, test } from 'vitest'
import type { StatsModelsQuery } from '../../../../schemas/stats.ts'
import { card, numeric } from '../../../support/cards/cards.ts'
import { statsWith } from '../../../support/expect/stats.ts'
import { backends } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'
import { Team } from '../../../support/start/team.ts'

type Query = Readonly<Partial<Record<keyof typeof StatsModelsQuery.properties, string>>>

const HOUR_MS = 3_600_000
const START = Date.parse('2026-05-05T05:00:00.000Z')
let nowMs = START
const clock = { epochMs: () => nowMs, monotonicMs: () => performance.now() }

/** The score is the income, shifted; 600 and more is grade A. */
const spec = (version: string, shift: number) =>
  card(
    [
      numeric('income', [
        ['(-Infinity, 1]', 500 + shift],
        ['(1, 2]', 595 + shift],
        ['(2, Infinity)', 700 + shift],
      ]),
    ],
    {
      name: 'Compared',
      version,
      base_points: 0,
      risk_grades: [
        { grade: 'A', min_score: 600, max_score: null },
        { grade: 'B', min_score: null, max_score: 599.999 },
      ],
    },
  )

describe.each(backends)('on $name', (backend) => {
  const service = TestService.forSuite(backend, { clock })
  const team = Team.forSuite(service)

  const listModels = (slug: string, query: Query = {}) =>
    team.done('GET', `/v1/deployments/${slug}/stats/models?${new URLSearchParams(query)}`)
  const readSeries = (slug: string, fromMs: number, toMs: number) => {
    const [from, to] = [fromMs, toMs].map((ms) => new Date(ms).toISOString())
    return team.done(
      'GET',
      `/v1/deployments/${slug}/stats/series?${new URLSearchParams({ from: `${from}`, to: `${to}` })}`,
    )
  }

  // What decides whether a challenger is promoted.
  test('a challenger in the shadow is compared on the applicants of the champion', async () => {
    const { slug, modelId } = await team.deploy(spec('1.0.0', 0))
    const entry = await team.challenge(slug, spec('2.0.0', 10), 50)
    await team.shadow(slug, true)
    for (const income of [1, 2, 3]) {
      nowMs += 1_000
      await team.ask(slug, { income })
    }
    nowMs += 1_000
    const records = [1, 2, 3, 3].map((income) => ({ income }))
    await service.call({ url: `/v1/score/${slug}/batch`, token: team.key, body: { records } })
    await statsWith(service, team.key, slug, 7)

    const found = await listModels(slug)
    expect(found).toMatchObject({ applicants: 7, last_at: new Date(nowMs).toISOString() })
    expect(found.first_at).toBe(new Date(nowMs - 3_000).toISOString())
    expect(found.models).toMatchObject([
      { model_id: modelId, role: 'champion', scored: 7, served: 7 },
      { model_id: entry.modelId, role: 'challenger', scored: 7, served: 0 },
    ])
    const [champion, challenger] = found.models
    expect(champion.avg_score).toBeCloseTo((2 * 500 + 2 * 595 + 3 * 700) / 7, 9)
    expect(champion.p95_latency_ms).toBeGreaterThanOrEqual(champion.p50_latency_ms)
    expect(challenger).toMatchObject({ p50_latency_ms: null, p95_latency_ms: null })
    expect(champion.served_by_slice).toEqual(
      Array.from({ length: 30 }, (_, slice) => ({ 0: 1, 9: 1, 19: 1, 29: 4 })[slice] ?? 0),
    )
    // 500 to 710 points in bins of 10.
    expect(champion.scores).toMatchObject({ low: 500, width: 10 })
    expect(champion.scores.counts[20]).toBe(3)
    expect(challenger.scores.counts[21]).toBe(3)
    expect(found.challengers).toHaveLength(1)
    const [{ grades, ...differences }] = found.challengers
    expect(differences).toMatchObject({
      challenger_id: entry.id,
      model_id: entry.modelId,
      champion_model_id: modelId,
      compared: 7,
      failed: 0,
      avg_difference: expect.closeTo(10, 9),
      p5_difference: 10,
      p50_difference: 10,
      p95_difference: 10,
    })
    expect(new Set(grades)).toEqual(
      new Set([
        { champion: 'B', challenger: 'B', applicants: 2 },
        { champion: 'B', challenger: 'A', applicants: 2 },
        { champion: 'A', challenger: 'A', applicants: 3 },
      ]),
    )

    // A stretch of time holds what was scored in it.
    expect((await listModels(slug, { from: found.last_at })).applicants).toBe(4)
    expect((await listModels(slug, { to: found.last_at })).applicants).toBe(3)
    const none = await listModels(slug, { to: found.first_at })
    const nothing = { applicants: 0, first_at: null, last_at: null, models: [], challengers: [] }
    expect(none).toEqual(nothing)
  })

  // The newest applicants alone would hide what came before them.
  test('a comparison is over all applicants of the time range', async () => {
    const { slug } = await team.deploy(spec('1.0.0', 0))
    for (let batch = 0; batch < 4; batch++) {
      nowMs += 1_000
      const records = Array.from({ length: 900 }, () => ({ income: batch }))
      await service.call({ url: `/v1/score/${slug}/batch`, token: team.key, body: { records } })
    }
    await statsWith(service, team.key, slug, 3_600)
    const found = await listModels(slug)
    expect(found.applicants).toBe(3_600)
    expect(found.first_at).toBe(new Date(nowMs - 3_000).toISOString())
    expect(found.models[0].avg_score).toBeCloseTo((2 * 500 + 595 + 700) / 4, 9)
  })

  test('a series has a point for each step with answers, finer for a shorter stretch', async () => {
    const { slug } = await team.deploy(spec('1.0.0', 0))
    nowMs = Math.ceil(nowMs / (24 * HOUR_MS)) * 24 * HOUR_MS + 30_000
    const firstMs = nowMs
    for (const income of [1, 3, 2]) {
      await team.ask(slug, { income })
      nowMs += income === 3 ? HOUR_MS : 1_000
    }
    await statsWith(service, team.key, slug, 3)
    const startMs = firstMs - 30_000
    const ofMinutes = await readSeries(slug, firstMs, firstMs + 6 * HOUR_MS)
    expect(ofMinutes).toMatchObject({
      step: 'minute',
      points: [
        { starts_at: new Date(startMs).toISOString(), total_requests: 2, avg_score: 600 },
        { starts_at: new Date(startMs + HOUR_MS).toISOString(), total_requests: 1, avg_score: 595 },
      ],
    })
    const [point] = ofMinutes.points
    expect(point.avg_pd).toBeGreaterThan(0)
    expect(point.p95_latency_ms).toBeGreaterThanOrEqual(point.p50_latency_ms)
    const ofHours = await readSeries(slug, firstMs, firstMs + 14 * 24 * HOUR_MS)
    expect(ofHours).toMatchObject({ step: 'hour' })
    expect(ofHours.points.map((one: { total_requests: number }) => one.total_requests)).toEqual([
      2, 1,
    ])
    const ofDays = await readSeries(slug, firstMs, firstMs + 15 * 24 * HOUR_MS)
    expect(ofDays).toMatchObject({ step: 'day', points: [{ total_requests: 3 }] })
    expect((await readSeries(slug, startMs - 60_000, startMs)).points).toEqual([])
    // Unasked it is the day that ends now.
    const lastDay = await team.done('GET', `/v1/deployments/${slug}/stats/series`)
    expect(lastDay).toEqual(ofHours)
    nowMs += 25 * HOUR_MS
    expect((await team.done('GET', `/v1/deployments/${slug}/stats/series`)).points).toEqual([])
  })
})
