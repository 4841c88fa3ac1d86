import { describe, expect, test } from 'vitest'
import { card, numeric } from '../../../support/cards/cards.ts'
import { findOutcome } from '../../../support/expect/answers.ts'
import { statsWith } from '../../../support/expect/stats.ts'
import { backends } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'
import { Team } from '../../../support/start/team.ts'

const DAY_MS = 86_400_000
const WEEK_MS = 7 * DAY_MS
/** A Monday; the month before it is February. */
const NOW = Date.parse('2026-03-09T12:00:00.000Z')
let nowMs = NOW
const clock = { epochMs: () => nowMs, monotonicMs: () => performance.now() }

/** The sample has 500 applicants in each bin, and 20 without an income. */
const income = numeric('income', [
  ['(-Infinity, 0]', -10],
  ['(0, Infinity)', 10],
  ['Missing', 0],
])
const counts = [500, 500, 20]
const label = { en: 'Income after tax' }
const bins = income.bins.map((bin, at) => ({ ...bin, baseline_count: counts[at] }))
const SPEC = card([{ ...income, label, bins } as typeof income], { name: 'Shifting' })

const applicants = (low: number, high: number, missing: number) => [
  ...Array.from({ length: low }, () => ({ income: -1 })),
  ...Array.from({ length: high }, () => ({ income: 1 })),
  ...Array.from({ length: missing }, () => ({})),
]

describe.each(backends)('on $name', (backend) => {
  const service = TestService.forSuite(backend, { clock })
  const team = Team.forSuite(service)

  const overview = async (slug: string) => {
    const { deployments, ...rest } = await team.done('GET', '/v1/overview')
    return { ...rest, row: deployments.find((row: { id: string }) => row.id === slug) }
  }

  test('a shift is told with its features, since when and by how much, and the month repeats it', async () => {
    // Its next round is a minute away, and judges nothing before this test asks for it.
    await service.services.overviewMaker.periodic.runOnce()
    nowMs = NOW - 5 * WEEK_MS
    const { slug } = await team.deploy(SPEC)
    const basePoints = SPEC.base_points
    await team.done('PATCH', `/v1/deployments/${slug}`, { cutoff: basePoints })
    let scored = 0
    // The weeks of 9, 16 and 23 February and of 2 March: stable, stable, moved, moved.
    const weeks = [applicants(295, 293, 12), applicants(300, 288, 12)]
    weeks.push(applicants(60, 480, 60), applicants(60, 480, 60), applicants(1, 2, 0))
    for (const [index, records] of weeks.entries()) {
      nowMs = NOW - (4 - index) * WEEK_MS
      await team.scoreBatch(slug, records)
      scored += records.length
    }
    nowMs = NOW
    await statsWith(service, team.key, slug, scored)
    const before = (await overview(slug)).row
    expect(before).toMatchObject({ attention: 'unknown', week: null, judged_at: null })
    expect(before.weeks).toHaveLength(14)
    expect(before.weeks.at(-1)).toMatchObject({
      from: '2026-03-09T00:00:00.000Z',
      is_complete: false,
      volume: 3,
    })
    expect(before.weeks.at(-1).mean_score).toBeCloseTo(basePoints + 10 / 3, 9)

    await service.services.overviewMaker.periodic.runOnce()
    const { week, month, row } = await overview(slug)
    expect(week).toEqual({ from: '2026-03-02T00:00:00.000Z', to: '2026-03-09T00:00:00.000Z' })
    expect(month).toEqual({ from: '2026-02-01T00:00:00.000Z', to: '2026-03-01T00:00:00.000Z' })
    expect(row.attention).toBe('act')
    const since = '2026-02-23T00:00:00.000Z'
    expect(row.week.stability).toMatchObject({
      verdict: 'major_shift',
      moved: [{ name: 'income', verdict: 'major_shift', since }],
      since,
    })
    // By hand: 60 of 600 after 20 of 1,020.
    expect(row.week.missing).toMatchObject({
      verdict: 'more_missing',
      features: [{ name: 'income', share: 0.1, since }],
    })
    expect(row.week.missing.features[0].expected_share).toBeCloseTo(20 / 1020, 12)
    expect(row.labels).toEqual({ income: 'Income after tax' })
    expect(row.month).toMatchObject({ n: 1_800 })
    const rates = row.weeks.map((one: { approval_rate: number | null }) => one.approval_rate)
    // At the base points and above: everybody but the low incomes.
    expect(rates.slice(-5)).toEqual([305 / 600, 0.5, 0.9, 0.9, null])
    const verdicts = row.weeks.slice(-5).map((one: { verdict: string | null }) => one.verdict)
    expect(verdicts).toEqual(['stable', 'stable', 'major_shift', 'major_shift', null])

    // One question, one verdict: the report over the same period says the same.
    const query = `from=${week.from}&to=${week.to}`
    const own = await team.done('GET', `/v1/deployments/${slug}/stability?${query}`)
    expect(own.features[0].csi_psi).toBe(row.week.stability.moved[0].csi_psi)
    expect(own.n).toBe(row.week.n)

    const report = await team.done('GET', `/v1/deployments/${slug}/reports/2026-02`)
    expect(report).toMatchObject({
      month: '2026-02',
      is_complete: true,
      cutoff: basePoints,
      verdicts: { n: 1_800, stability: { verdict: row.month.stability.verdict } },
      cutoffs: { cutoffs: [{ cutoff: basePoints, approved: 305 + 300 + 540 }] },
      performance: null,
      checkpoint: { checkpoint: expect.any(String) },
    })
    expect(report.weeks.map(({ from }: { from: string }) => from.slice(0, 10))).toEqual([
      ...['2026-02-02', '2026-02-09', '2026-02-16', '2026-02-23'],
    ])
    expect(report.changes).toMatchObject([
      { action: 'deployment.create' },
      { action: 'deployment.update' },
    ])
  })

  test('a report as known at a moment stays the same whatever comes later', async () => {
    nowMs = NOW - 4 * WEEK_MS
    const { slug, modelId } = await team.deploy(SPEC)
    await team.scoreBatch(slug, applicants(300, 280, 20))
    nowMs = NOW
    await statsWith(service, team.key, slug, 600)
    const path = `/v1/deployments/${slug}/reports/2026-02?as_known_at=${new Date(NOW).toISOString()}`
    const { checkpoint: _, ...before } = await team.done('GET', path)
    nowMs = NOW + DAY_MS
    await team.done('PATCH', `/v1/deployments/${slug}`, { cutoff: 1, name: 'Another' })
    await team.done('PUT', `/v1/deployments/${slug}/stability/alarm`, { watch: 0.01, act: 0.02 })
    await team.done('PUT', `/v1/models/${modelId}/baseline`, {
      counts: { features: { income: { bins: [1, 900, 1] } } },
    })
    const { checkpoint: __, ...after } = await team.done('GET', path)
    expect(after).toEqual(before)
    nowMs = NOW
  })

  test('the worst is first, pages follow one another, and a key sees its environment', async () => {
    const { slug } = await team.deploy(SPEC, 'staging')
    const { deployments: all } = await team.done('GET', '/v1/overview')
    const levels = all.map(({ attention }: { attention: string }) =>
      ['act', 'watch', 'unknown', 'none'].indexOf(attention),
    )
    expect(levels).toEqual(levels.toSorted((a: number, b: number) => a - b))
    const pages = await team.listPages('/v1/overview', 'deployments', 1)
    expect(pages.flat().map((row) => (row as { id: string }).id)).toEqual(
      all.map(({ id }: { id: string }) => id),
    )
    const staging = await team.done('GET', '/v1/overview?environment=staging')
    expect(staging.deployments.map(({ id }: { id: string }) => id)).toEqual([slug])
    const key = await service.createKey(team.owner, {
      scopes: ['read'],
      environment: 'production',
    })
    const own = await service.call({ method: 'GET', url: '/v1/overview', token: key })
    expect(own.json().deployments.map(({ id }: { id: string }) => id)).not.toContain(slug)
    const future = await team.call('GET', `/v1/deployments/${slug}/reports/2026-04`)
    expect(findOutcome(future)).toBe('400 invalid_request')
  })
})
