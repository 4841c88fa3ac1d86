import { describe, expect, test } from 'vitest'
import { card, categorical, numeric } from '../../../support/cards/cards.ts'
import { findOutcome } from '../../../support/expect/answers.ts'
import { statsWith } from '../../../support/expect/stats.ts'
import { computeMean, deduped, exportedRows } from '../../../support/naive/naive-monitoring.ts'
import { backends } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'
import { Team } from '../../../support/start/team.ts'

const DAY_MS = 86_400_000
const START = Date.parse('2026-05-05T05:00:00.000Z')
let nowMs = START
const clock = { epochMs: () => nowMs, monotonicMs: () => performance.now() }

/** Age has a hole and no Missing bin; job has one, so that unseen categories take its points. */
const SPEC = card(
  [
    numeric('age', [
      ['(-Infinity, 25]', -12],
      ['(30, 60]', 9.5],
      ['(60, Infinity)', 0],
    ]),
    categorical('job', [
      ['clerk', 4],
      ['Missing', -7],
      ['cook%,%baker', 2.25],
    ]),
  ],
  { base_points: 480, scaling: { base_score: 480, base_odds: 20, pdo: 20 } },
)
const COUNTS = {
  features: {
    age: { bins: [50, 45, 5], missing: 0, no_bin: 10 },
    job: { bins: [60, 20, 20], unseen_category: 10 },
  },
  score_bands: [
    { min: 470, max: 480, n: 40 },
    { min: 480, max: null, n: 70 },
  ],
}
const APPLICANTS = [
  { age: 20, job: 'clerk' },
  { age: 27, job: 'baker' },
  { age: 50 },
  { job: 'pilot' },
  { age: 'old', job: 'cook' },
  { age: 70, job: 'clerk' },
]

describe.each(backends)('on $name', (backend) => {
  const service = TestService.forSuite(backend, { clock })
  const team = Team.forSuite(service)

  const path = (slug: string, end: string) => `/v1/deployments/${slug}/stability${end}`
  const scoreOne = (slug: string, body: object, reference?: string) =>
    service.call({
      url: `/v1/score/${slug}`,
      token: team.key,
      body,
      headers: reference === undefined ? {} : { 'x-reference-id': reference },
    })

  /** Three days of applicants; references A to D come several times, also in a batch. */
  async function deployed(spec: object = SPEC) {
    nowMs = START
    const { slug, modelId } = await team.deploy(spec)
    let scored = 0
    for (let day = 0; day < 3; day++) {
      for (const [index, applicant] of APPLICANTS.entries()) {
        nowMs = START + day * DAY_MS + index * 1_000
        await scoreOne(slug, applicant, index % 2 === 0 ? 'ABCD'[(day + index) % 4] : undefined)
        scored++
      }
      const records = APPLICANTS.map((applicant, index) => ({
        id: 'ABA7'[index % 4],
        ...applicant,
      }))
      await team.scoreBatch(slug, records)
      scored += records.length
    }
    await statsWith(service, team.key, slug, scored)
    return { slug, modelId }
  }

  test.each(['last', 'first', 'none'] as const)(
    'with dedupe=%s every figure equals a recount of the exported rows',
    async (dedupe) => {
      const { slug, modelId } = await deployed()
      const put = await team.done('PUT', `/v1/models/${modelId}/baseline`, { counts: COUNTS })
      expect(put).toMatchObject({ model_id: modelId, origin: 'counts', n: 110 })
      expect(put.id).toMatch(/^bsl_/)
      // From the batch of the first day on, to before the last applicant of the last one.
      const from = new Date(START + 5_000).toISOString()
      const to = new Date(START + 2 * DAY_MS + 5_000).toISOString()
      const period = `from=${from}&to=${to}`
      const found = await team.done('GET', path(slug, `?${period}&dedupe=${dedupe}`))
      const rows = deduped(await exportedRows(team, slug, `&${period}`), dedupe)

      expect(found).toMatchObject({ deployment_id: slug, model_id: modelId, from, to, dedupe })
      expect(found).toMatchObject({ zero_fill: '0.5', watch: 0.1, act: 0.25, formula_version: 1 })
      expect(found.baseline).toMatchObject({ id: put.id, origin: 'counts', n: 110 })
      expect(found.n).toBe(rows.length)
      const scores = rows.map(({ score }) => score ?? Number.NaN)
      expect(found.score).toMatchObject({ n: rows.length, n_expected: 110 })
      expect(found.score.mean).toBeCloseTo(computeMean(scores) ?? 0, 9)
      expect(found.score.mean_expected).toBeCloseTo(put.mean_score, 12)
      const bands = found.score.bands.map(({ min, max, expected, actual }: Band) => [
        ...[min, max, expected, actual],
      ])
      const inBand = (low: number, high: number) =>
        scores.filter((score) => score >= low && score < high).length
      expect(bands).toEqual([
        [null, 470, 0, inBand(-Infinity, 470)],
        [470, 480, 40, inBand(470, 480)],
        [480, null, 70, inBand(480, Infinity)],
      ])
      for (const [index, feature] of found.features.entries()) {
        for (const { outcome, bin, actual } of feature.cells) {
          const count = rows.filter(
            (row) => row.outcomes[index] === outcome && row.bins[index] === (bin?.index ?? -1),
          ).length
          expect([feature.name, outcome, bin, actual]).toEqual([feature.name, outcome, bin, count])
        }
        const missing = rows.filter((row) => row.outcomes[index] === 'missing').length
        expect(feature.missing_share).toBeCloseTo(missing / rows.length, 12)
      }
      const moved = found.features.reduce(
        (sum: number, { csi_points }: { csi_points: number }) => sum + csi_points,
        0,
      )
      expect(moved).toBeCloseTo(found.score.mean - found.score.mean_expected, 9)
      // Nobody was counted whose age is a text: the cell is unknown, and takes no part.
      const [age] = found.features
      const unknown = age.cells.find(({ outcome }: Cell) => outcome === 'not_a_number')
      expect(unknown).toMatchObject({ expected: null, expected_share: null, psi: null })
      const parts = age.cells.reduce((sum: number, { psi }: Cell) => sum + (psi ?? 0), 0)
      expect(parts).toBeCloseTo(age.csi_psi, 12)
      const points = age.cells.reduce((sum: number, { points_part }: Cell) => sum + points_part, 0)
      expect(points).toBeCloseTo(age.csi_points, 12)
    },
  )

  test('each point of a series is the stability of its own period', async () => {
    const { slug, modelId } = await deployed()
    const period = { deployment: slug, to: new Date(START + DAY_MS / 2).toISOString() }
    const put = await team.done('PUT', `/v1/models/${modelId}/baseline`, { period })
    expect(put).toMatchObject({ origin: 'period' })
    const from = new Date(START + 2_000).toISOString()
    for (const interval of ['day', 'week', 'month']) {
      const { points } = await team.done(
        'GET',
        path(slug, `/series?interval=${interval}&from=${from}`),
      )
      expect(points).toHaveLength(interval === 'day' ? 3 : 1)
      expect(points[0].from).toBe(from)
      for (const point of points) {
        const whole = await team.done('GET', path(slug, `?from=${point.from}&to=${point.to}`))
        expect(point).toMatchObject({ n: whole.n, score: { psi: whole.score.psi } })
        for (const [index, feature] of point.features.entries()) {
          expect(whole.features[index]).toMatchObject(feature)
        }
      }
    }
    // The period against itself has not moved.
    const same = await team.done('GET', path(slug, `?to=${period.to}`))
    expect(same.n).toBe(put.n)
    expect(same.score).toMatchObject({ psi: 0, zero_bins: 0 })
    expect(same.score.mean).toBeCloseTo(put.mean_score, 12)
    expect(same.features[0]).toMatchObject({ csi_psi: 0, csi_points: 0 })
  })

  test('without a baseline the indices are null, and counts stay', async () => {
    const { slug } = await deployed()
    const found = await team.done('GET', path(slug, '?dedupe=none'))
    expect(found).toMatchObject({ n: 36, baseline: null })
    const nothing = { psi: null, zero_bins: null, cv_95: null, p_value: null, verdict: null }
    expect(found.score).toMatchObject({ ...nothing, n_expected: null, mean_expected: null })
    expect(found.features[0]).toMatchObject({ csi_psi: null, csi_points: null, verdict: null })
    expect(found.features[0].cells[0]).toMatchObject({ expected: null, actual: 6, psi: null })
  })

  test('a specification with counts is its own baseline, without a score index', async () => {
    const features = SPEC.features.map((feature) => ({
      ...feature,
      bins: feature.bins.map((bin) => ({ ...bin, baseline_count: 10 })),
    }))
    const { slug, modelId } = await deployed({ ...SPEC, features })
    const found = await team.done('GET', path(slug, ''))
    expect(found.baseline).toMatchObject({ origin: 'spec', n: 30 })
    expect(found.baseline.id).toMatch(/^bsl_/)
    expect(found.score).toMatchObject({ psi: null, n_expected: 30, bands: [] })
    expect(found.score.mean_expected).toBeCloseTo(480 - 2.5 / 3 - 0.75 / 3, 9)
    expect(found.features[1].csi_psi).toBeGreaterThan(0)
    // One stored later takes its place.
    await team.done('PUT', `/v1/models/${modelId}/baseline`, { counts: COUNTS })
    expect((await team.done('GET', path(slug, ''))).baseline.origin).toBe('counts')
  })

  test('a baseline that does not fit the model is refused with every fault', async () => {
    const { slug, modelId } = await team.deploy(SPEC)
    const counts = {
      features: { age: { bins: [1, 2], unseen_category: 3 }, wage: { bins: [1] } },
      score_bands: [
        { min: null, max: 480, n: 1 },
        { min: 470, max: null, n: 1 },
      ],
    }
    const url = `/v1/models/${modelId}/baseline`
    const refused = await team.call('PUT', url, { counts })
    expect(findOutcome(refused)).toBe('422 invalid_baseline')
    expect(refused.json().details.map(({ path: at }: { path: string }) => at)).toEqual([
      ...['counts.features.wage', 'counts.features.age.bins'],
      ...['counts.features.age.unseen_category', 'counts.features.job', 'counts.score_bands[1]'],
    ])
    const twice = {
      counts: { features: { ...COUNTS.features, job: { bins: [1, 2, 3], missing: 4 } } },
    }
    expect(findOutcome(await team.call('PUT', url, twice))).toBe('422 invalid_baseline')
    const empty = await team.call('PUT', url, { period: { deployment: slug } })
    expect(findOutcome(empty)).toBe('422 invalid_baseline')
    for (const body of [{}, { counts: COUNTS, period: { deployment: slug } }, { counts: {} }]) {
      expect(findOutcome(await team.call('PUT', url, body))).toBe('400 invalid_request')
    }
  })

  // A key of one environment must learn nothing of the other one's cards.
  test('a model of another environment is not found', async () => {
    const { slug } = await team.deploy(SPEC, 'staging')
    const other = await team.register(SPEC, 'production')
    const refused = await team.call('GET', path(slug, `?model=${other}`))
    expect(findOutcome(refused)).toBe('404 model_not_found')
  })

  test('small samples say that they are too small', async () => {
    const { slug, modelId } = await deployed()
    await team.done('PUT', `/v1/models/${modelId}/baseline`, { counts: COUNTS })
    const { score } = await team.done('GET', path(slug, ''))
    expect(score.cv_95).toBeGreaterThan(0.1)
    expect(score.verdict).toBe('insufficient_data')
    const loose = await team.done('GET', path(slug, '?watch=9&act=10'))
    expect(loose.score.verdict).toBe('stable')
  })

  test.each([
    'zero_fill=2',
    'zero_fill=none',
    'watch=0.5&act=0.2',
    'population=some',
    'from=2026-05-05',
    'dedupe=all',
    'from=2026-05-06T00:00:00Z&to=2026-05-05T00:00:00Z',
  ])('the query %s is refused', async (query) => {
    const { slug } = await team.deploy(SPEC)
    const refused = await team.call('GET', path(slug, `?${query}`))
    expect(findOutcome(refused)).toBe('400 invalid_request')
  })
})

interface Band {
  readonly min: number | null
  readonly max: number | null
  readonly expected: number
  readonly actual: number
}

interface Cell {
  readonly outcome: string
  readonly psi: number | null
  readonly points_part: number
}
