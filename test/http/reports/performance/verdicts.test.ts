import { beforeAll, describe, expect, test } from 'vitest'
import { card, numeric } from '../../../support/cards/cards.ts'
import { findOutcome } from '../../../support/expect/answers.ts'
import { backends } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'
import { Team } from '../../../support/start/team.ts'

const DEFINITION = {
  label: 'Bad within 12 months',
  window_months: 12,
  bad_rule_text: '90 days past due',
  maturity_months: 6,
}
/** Income ranks the applicants perfectly, and age turns every second of them around. */
const features = [
  numeric('income', [
    ['(-Infinity, 0]', 0],
    ['(0, Infinity)', 100],
  ]),
  numeric('age', [
    ['(-Infinity, 0]', 0],
    ['(0, Infinity)', 0],
  ]),
]
const byAge = [
  features[0],
  { ...features[1], bins: features[1]?.bins.map((bin, at) => ({ ...bin, points: at * 300 })) },
] as typeof features

describe.each(backends)('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  const team = Team.forSuite(service)

  beforeAll(async () => {
    await team.done('PUT', '/v1/outcome-definitions/gb12', DEFINITION)
  })

  const report = (slug: string, query = '') =>
    team.done('GET', `/v1/deployments/${slug}/performance?definition=gb12${query}`)

  test('a challenger is judged over the applicants that both scored, and one without any is named', async () => {
    const { slug } = await team.deploy(card(features, { version: '1' }))
    const sent: object[] = []
    let applicants = 0
    const scoreAll = async (count: number) => {
      const records = Array.from({ length: count }, (_, row) => ({
        id: applicants++,
        // One in ten against the ranking, so that there is an interval.
        income: row % 2 === 0 ? (row % 10 === 0 ? -1 : 1) : row % 11 === 0 ? 1 : -1,
        age: row % 3 === 0 ? 1 : -1,
      }))
      const { request_id } = await team.scoreBatch(slug, records)
      for (const row of records.keys()) {
        sent.push({
          request_id,
          record_index: row,
          kind: 'performance',
          definition: 'gb12',
          outcome: row % 2 === 0 ? 'good' : 'bad',
          as_of: '2026-01-31',
        })
      }
    }
    await scoreAll(100)
    const worse = await team.challenge(slug, card(byAge, { version: '2' }), 10)
    await team.done('PATCH', `/v1/deployments/${slug}/traffic`, {
      action: 'toggle_shadow',
      shadow_mode: true,
    })
    const before = await report(slug)
    expect(before.verdicts.challengers).toMatchObject([
      {
        challenger_id: worse.id,
        model_id: worse.modelId,
        n: 0,
        verdict: 'insufficient_data',
        needed: { n: 40, bad: 20 },
      },
    ])
    await scoreAll(200)
    await expect
      .poll(async () => (await team.done('POST', '/v1/outcomes', { outcomes: sent })).counts)
      .toMatchObject({ unmatched: 0 })
    const found = await report(slug)
    const [judged] = found.verdicts.challengers
    expect(found.n).toBe(300)
    expect(judged).toMatchObject({ verdict: 'worse', needed: null, n: 200, good: 100, bad: 100 })
    expect(judged.champion_auc - judged.auc).toBeCloseTo(-judged.auc_difference, 12)
    expect(judged.auc_difference_high).toBeLessThan(0)
    // The champion's own AUC also counts applicants that the challenger never scored.
    expect(judged.champion_auc).not.toBe(found.auc)
    const { verdict, needed, ...paired } = judged
    expect(found.paired).toEqual([paired])
  })

  test('the AUC of development is kept with the model, and judged without being typed', async () => {
    const { slug, modelId } = await team.deploy(card(features, { version: '3' }))
    const baseline = `/v1/models/${modelId}/baseline`
    expect((await report(slug)).verdicts.power).toMatchObject({ verdict: 'unknown' })
    expect(await team.done('PUT', baseline, { development_auc: 0.9 })).toMatchObject({
      id: null,
      model_id: modelId,
      development_auc: 0.9,
    })
    const { records } = await team.done('GET', '/v1/audit-log?limit=1')
    expect(records[0]).toMatchObject({
      action: 'model.set_baseline',
      after: { development_auc: 0.9 },
    })
    const counts = { features: { income: { bins: [1, 1] }, age: { bins: [1, 1] } } }
    expect(await team.done('PUT', baseline, { counts })).toMatchObject({
      n: 2,
      development_auc: 0.9,
    })
    const { development, verdicts } = await report(slug)
    expect(development).toMatchObject({ auc: 0.9 })
    expect(verdicts.power).toMatchObject({ development_auc: 0.9, verdict: 'insufficient_data' })
    expect((await report(slug, '&development_auc=0.8')).development.auc).toBe(0.8)
    expect((await team.done('PUT', baseline, { development_auc: null })).development_auc).toBeNull()
    for (const body of [{}, { development_auc: 1.5 }, { counts, period: { deployment: slug } }]) {
      expect(findOutcome(await team.call('PUT', baseline, body))).toBe('400 invalid_request')
    }
  })
})
