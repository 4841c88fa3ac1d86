import { describe, expect, test } from 'vitest'
import {
  ScoreBatchResult,
  ScorecardBatchResult,
  ScorecardScoreResult,
  ScoreResult,
} from '../../../schemas/scoring.ts'
import { ModelComparison, StatsSeries } from '../../../schemas/stats.ts'
import { card, plainFeature } from '../../support/cards/cards.ts'
import { expectSuccess } from '../../support/expect/answers.ts'
import { statsWith } from '../../support/expect/stats.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'
import { Team } from '../../support/start/team.ts'
import { openDuckdb } from '../../support/suites/sql-engines.ts'

const GRADES = [{ grade: 'A', min_score: 100, max_score: null }]
const { scaling: _, ...unscaled } = card([plainFeature('income')], { risk_grades: GRADES })
const WITHOUT = { ...unscaled, name: 'No scale', has_pd: false }
const WITH = card([plainFeature('income')], { version: '2.0.0' })
const APPLICANT = { income: 5 }

// The scale of the card is unknown, so that any number here would be invented.
describe.each(backends)('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  const team = Team.forSuite(service)

  const post = (url: string, body: object) => service.call({ url, token: team.key, body })

  test('a model whose has_pd is false answers score and grade, and null for pd, on every path', async () => {
    const { slug } = await team.deploy(WITHOUT)
    await team.challenge(slug, { ...WITHOUT, version: '3.0.0' }, 10)
    await team.challenge(slug, WITH, 10)
    await team.shadow(slug, true)
    const none = { score: 102, risk_grade: 'A', pd: null }
    const shadow_scores = [
      { ...none, version: '3.0.0' },
      { score: 102, version: '2.0.0', pd: expect.any(Number) },
    ]
    const single = await post(`/v1/score/${slug}`, APPLICANT)
    expect(expectSuccess(single, ScoreResult)).toMatchObject({ ...none, shadow_scores })
    const batch = await post(`/v1/score/${slug}/batch`, { records: [APPLICANT, { id: 1 }] })
    expect(expectSuccess(batch, ScoreBatchResult).results).toMatchObject([
      { ...none, shadow_scores },
      { id: 1, score: 103, pd: null },
    ])
    const guide = { scorecard_id: slug, applicant: APPLICANT }
    expect(expectSuccess(await post('/api/v1/score', guide), ScorecardScoreResult)).toMatchObject(
      none,
    )
    const guides = { scorecard_id: slug, applicants: [APPLICANT] }
    expect(
      expectSuccess(await post('/api/v1/score/batch', guides), ScorecardBatchResult).results,
    ).toMatchObject([none])
  })

  test('stats, series and comparison count its results, and have null for pd', async () => {
    const { slug } = await team.deploy(WITHOUT)
    const { id } = await team.challenge(slug, WITH, 10)
    await team.shadow(slug, true)
    const from = new Date().toISOString()
    await post(`/v1/score/${slug}`, APPLICANT)
    await post(`/v1/score/${slug}/batch`, { records: [APPLICANT, {}] })
    const { summary, recent_scores: recent } = await statsWith(service, team.owner, slug, 3)
    expect(summary).toMatchObject({ total_requests: 3, min_score: 102, avg_pd: null })
    expect(summary.avg_score).toBeCloseTo((102 + 102 + 103) / 3, 12)
    expect(recent.map(({ pd }) => pd)).toEqual([null, null, null])
    const url = `/v1/deployments/${slug}/stats`
    const series = expectSuccess(await team.call('GET', `${url}/series`), StatsSeries)
    expect(series.points).toMatchObject([{ avg_pd: null }])
    const { models } = expectSuccess(await team.call('GET', `${url}/models`), ModelComparison)
    expect(models).toMatchObject([{ avg_pd: null }, { avg_pd: expect.any(Number) }])

    // The minute is both summed up and read from the log itself where the question begins within
    // it.
    await team.done('POST', `/v1/deployments/${slug}/promote`, { challenger_id: id })
    await post(`/v1/score/${slug}`, APPLICANT)
    const mixed = await statsWith(service, team.owner, slug, 4)
    expect(mixed.summary).toMatchObject({ total_requests: 4, avg_pd: null })
    expect(mixed.recent_scores[0]?.pd).toEqual(expect.any(Number))
    const { summary: ofLog } = (await team.call('GET', `${url}?from=${from}`)).json()
    expect(ofLog).toMatchObject({ total_requests: 4, avg_pd: null })
  })

  test('its exports have no probability: SQL answers NULL, PMML has no such output', async () => {
    const { modelId } = await team.deploy(WITHOUT)
    const path = `/v1/models/${modelId}/export`
    const sql = (await team.call('GET', `${path}?format=sql&dialect=duckdb&table=applicants`)).body
    const database = await openDuckdb()
    await database.fill([{ name: 'income', type: 'number' }], [[5]])
    expect(await database.query(sql)).toMatchObject([{ score: 102, pd: null, risk_grade: 'A' }])
    await database.close()
    const pmml = (await team.call('GET', `${path}?format=pmml`)).body
    expect(pmml).toContain('name="score"')
    expect(pmml).not.toMatch(/name="pd"|name="scaling"/)
    expect(pmml).toContain('name="has_pd" value="false"')
    expect(JSON.parse((await team.call('GET', path)).body)).toEqual(WITHOUT)
  })
})
