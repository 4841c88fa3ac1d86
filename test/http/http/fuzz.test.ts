import type { TSchema } from '@sinclair/typebox'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { TokenResult } from '../../../schemas/auth.ts'
import { CreatedKey } from '../../../schemas/keys.ts'
import { DeployResult } from '../../../schemas/models.ts'
import {
  ScoreBatchResult,
  ScorecardBatchResult,
  ScorecardScoreResult,
  ScoreResult,
} from '../../../schemas/scoring.ts'
import { card, categorical, plainFeature } from '../../support/cards/cards.ts'
import { hostileBody } from '../../support/cards/hostile-bodies.ts'
import { expectSuccess, formatRefusal } from '../../support/expect/answers.ts'
import { backends } from '../../support/start/databases.ts'
import { OWNER, TestService } from '../../support/start/service.ts'

/** For each route; a failure prints the seed, pass it to fc.assert to repeat it. */
const RUNS = 150

const spec = card([plainFeature('income'), categorical('home', [['own%,%rent', 5]])], {
  risk_grades: [
    { grade: 'A', min_score: 100, max_score: null },
    { grade: 'B', min_score: null, max_score: 99 },
  ],
})
const order = { spec, environment: 'staging', auto_deploy: true, description: 'text' }
const applicant = { income: 1, home: 'own' }
const list = [applicant, { ...applicant, pet: 1 }]

/** Each route with a good body, the status and the form of its success. */
const ROUTES: Array<[url: string, body: object, status: number, schema: TSchema]> = [
  ['/api/auth/login', OWNER, 200, TokenResult],
  ['/v1/models/deploy', order, 200, DeployResult],
  ['/v1/keys', { name: 'k', scopes: ['score'], environment: 'staging' }, 201, CreatedKey],
  ['/v1/score/:slug', { ...applicant, strict_mode: false }, 200, ScoreResult],
  [
    '/v1/score/:slug/batch',
    { records: list, strict_mode: false, include_contributions: true },
    200,
    ScoreBatchResult,
  ],
  [
    '/api/v1/score',
    { scorecard_id: ':slug', applicant, strict_mode: false },
    200,
    ScorecardScoreResult,
  ],
  [
    '/api/v1/score/batch',
    { scorecard_id: ':slug', applicants: list, strict_mode: false },
    200,
    ScorecardBatchResult,
  ],
]

describe.each(backends)('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  let slug: string
  let owner: string
  let key: string

  beforeAll(async () => {
    owner = await service.signIn()
    slug = await service.deploy(owner, spec, 'staging')
    key = await service.createKey(owner)
  })

  // A body that brings the service to a 5xx is a body with which anybody can page the operator.
  test.each(ROUTES)(
    '%s answers every body with its success or with a refusal',
    async (url, good, status, schema) => {
      const token = url.includes('score') ? key : owner
      const path = url.replace(':slug', slug)
      await fc.assert(
        fc.asyncProperty(hostileBody(good), async (body) => {
          const text = body.replaceAll(':slug', slug)
          const response = await service.call({ url: path, token, body: text })
          if (response.statusCode < 300) expectSuccess(response, schema, status)
          else expect(formatRefusal(response).status).toBeLessThan(500)
        }),
        { numRuns: RUNS },
      )
    },
  )

  // What stands in the path goes to the router and to the database before any schema sees it.
  test('every slug is answered with 404, or 400 for a URL that is malformed', async () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 40 }),
      fc.string({ unit: 'grapheme' }),
    )
    const encoded = text.filter((slug) => slug.isWellFormed()).map(encodeURIComponent)
    const raw = fc.stringMatching(/^[!-~]{0,40}$/).filter((slug) => !/[?#]/.test(slug))
    await fc.assert(
      fc.asyncProperty(fc.oneof(encoded, raw), fc.constantFrom('', '/batch'), async (part, end) => {
        const body = end === '' ? {} : { records: [] }
        const response = await service.call({ url: `/v1/score/${part}${end}`, token: key, body })
        expect([400, 404]).toContain(formatRefusal(response).status)
      }),
      { numRuns: RUNS },
    )
  })
})
