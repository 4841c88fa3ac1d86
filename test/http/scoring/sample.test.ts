import { beforeAll, describe, expect, test } from 'vitest'
import { ScoreBatchResult, ScoreResult } from '../../../schemas/scoring.ts'
import { sampleApplicants, sampleSpec } from '../../support/cards/cards.ts'
import { expectSuccess } from '../../support/expect/answers.ts'
import { contributionsInOrder } from '../../support/expect/contribution-order.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'

const SINGLES = 50

const spec = sampleSpec()
const applicants = sampleApplicants()
const names = spec.features.map(({ name }) => name)

/** The scale of the sample: 50 points double the odds, which are 19 at 600. */
function computePd(score: number): number {
  return 1 / (1 + 19 * 2 ** ((score - 600) / 50))
}

function readGrade(score: number): string | undefined {
  const holding = spec.risk_grades?.find(
    ({ min_score: min, max_score: max }) =>
      (min === null || min <= score) && (max === null || score <= max),
  )
  return holding?.grade
}

describe.each(backends)('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  let slug: string
  let key: string

  beforeAll(async () => {
    const owner = await service.signIn()
    slug = await service.deploy(owner, spec)
    key = await service.createKey(owner)
  })

  // A score off by a point moves people over the line between a loan and none.
  test('a batch of all 1,000 applicants gets the scores that another program gave them', async () => {
    const records = applicants.map(({ id, applicant }) => ({ id, ...applicant }))
    const body = { records, include_contributions: true }
    const response = await service.call({ url: `/v1/score/${slug}/batch`, token: key, body })
    const { results, total, ...rest } = expectSuccess(response, ScoreBatchResult)
    expect(applicants).toHaveLength(1000)
    expect(total).toBe(1000)
    expect(rest).toMatchObject({ model_version: spec.version, deployment_id: slug })
    expect(results).toEqual(
      applicants.map(({ id, score, contributions }) => ({
        id,
        score,
        contributions,
        risk_grade: readGrade(score) ?? null,
        pd: expect.closeTo(computePd(score), 12),
        warnings: [],
      })),
    )
  })

  test(`${SINGLES} single requests get the same scores, contributions in the order of the spec`, async () => {
    const step = applicants.length / SINGLES
    for (const sample of applicants.filter((_, index) => index % step === 7)) {
      const { applicant, score, contributions } = sample
      const response = await service.call({ url: `/v1/score/${slug}`, token: key, body: applicant })
      expect(expectSuccess(response, ScoreResult)).toEqual({
        score,
        contributions,
        risk_grade: readGrade(score) ?? null,
        warnings: [],
        pd: expect.closeTo(computePd(score), 12),
        deployment_id: slug,
        model_name: spec.name,
        model_version: spec.version,
        spec_version: '1.0',
        request_id: expect.any(String),
        scored_at: expect.any(String),
      })
      expect(contributionsInOrder(response.body).map(([name]) => name)).toEqual(names)
    }
  })

  // docs/decisions.md 6.9: a client of either family of paths must get the same decision.
  test('the /api/v1 forms give the same scores under the scorecard id', async () => {
    const some = applicants.slice(0, 20)
    const body = {
      scorecard_id: slug,
      applicants: some.map(({ id, applicant }) => ({ id, ...applicant })),
    }
    const response = await service.call({ url: '/api/v1/score/batch', token: key, body })
    const { results } = response.json()
    expect(results.map(({ id, score }: { id: string; score: number }) => [id, score])).toEqual(
      some.map(({ id, score }) => [id, score]),
    )
    for (const { applicant, score } of some) {
      const single = { scorecard_id: slug, applicant }
      const scored = await service.call({ url: '/api/v1/score', token: key, body: single })
      expect(scored.json().score).toBe(score)
    }
  })
})
