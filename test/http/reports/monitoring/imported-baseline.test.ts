import { describe, expect, test } from 'vitest'
import { card, numeric } from '../../../support/cards/cards.ts'
import { statsWith } from '../../../support/expect/stats.ts'
import { backends } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'
import { Team } from '../../../support/start/team.ts'

const income = numeric('income', [
  ['(-Infinity, 0]', -10],
  ['(0, Infinity)', 10],
  ['Missing', 3],
])
const SPEC = card([income], { name: 'Imported', base_points: 500 })
/** Two applicants below 0, one above, one without a value. */
const SAMPLE = 'income,score\n-1,490\n-2,490\n1,510\n,503\n'

describe.each(backends)('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  const team = Team.forSuite(service)

  const deploy = (spec: object, rest: object = {}) =>
    team.done('POST', '/v1/models/deploy', {
      spec,
      environment: 'staging',
      auto_deploy: true,
      ...rest,
    })
  const stability = (slug: string) => team.done('GET', `/v1/deployments/${slug}/stability`)

  test('the sample that a model was checked with is its development sample', async () => {
    const { deployment } = await deploy(SPEC, { sample: SAMPLE })
    await team.scoreBatch(deployment.slug, [{ income: -1 }, { income: 1 }])
    await statsWith(service, team.key, deployment.slug, 2)
    const { baseline, score, features } = await stability(deployment.slug)
    expect(baseline).toMatchObject({ origin: 'import', n: 4 })
    expect(score.mean_expected).toBeCloseTo((490 + 490 + 510 + 503) / 4, 12)
    expect(score.psi).not.toBeNull()
    const expected = features[0].cells.map((cell: { expected: number | null }) => cell.expected)
    expect(expected).toEqual([2, 1, 1, 0, 0])
    // By points: half of four, against one of two.
    expect(features[0].csi_points).toBeCloseTo(0 - (-10 * 2 + 10 + 3) / 4, 12)
  })

  test('a model without a sample has none, and counts of the specification go before it', async () => {
    const { deployment: unsampled } = await deploy({ ...SPEC, version: '2' })
    expect((await stability(unsampled.slug)).baseline).toBeNull()
    const bins = income.bins.map((bin) => ({ ...bin, baseline_count: 100 }))
    const counted = { ...SPEC, version: '3', features: [{ ...income, bins }] }
    const { deployment } = await deploy(counted, { sample: SAMPLE })
    expect((await stability(deployment.slug)).baseline).toMatchObject({ origin: 'spec', n: 300 })
  })

  test('a copy takes the baseline along that is in force, and keeps it', async () => {
    const { model_id: id } = await deploy({ ...SPEC, version: '4' }, { sample: SAMPLE })
    const counts = (bins: readonly number[]) => ({ counts: { features: { income: { bins } } } })
    await team.done('PUT', `/v1/models/${id}/baseline`, counts([70, 20, 10]))
    const body = { environment: 'production', auto_deploy: true }
    const { deployment } = await team.done('POST', `/v1/models/${id}/copies`, body)
    const copied = await stability(deployment.slug)
    expect(copied.baseline).toMatchObject({ origin: 'counts', n: 100 })
    await team.done('PUT', `/v1/models/${id}/baseline`, counts([1, 1, 1]))
    expect((await stability(deployment.slug)).baseline).toEqual(copied.baseline)
    const { model_id: plain } = await deploy({ ...SPEC, version: '5' })
    const { deployment: without } = await team.done('POST', `/v1/models/${plain}/copies`, body)
    expect((await stability(without.slug)).baseline).toBeNull()
  })
})
