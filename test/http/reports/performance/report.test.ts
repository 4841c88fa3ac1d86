import { beforeAll, describe, expect, test } from 'vitest'
import { sampleApplicants, sampleSpec } from '../../../support/cards/cards.ts'
import { findOutcome } from '../../../support/expect/answers.ts'
import { statsWith } from '../../../support/expect/stats.ts'
import { backends } from '../../../support/start/databases.ts'
import { numberedSpec, TwoTeams } from '../../../support/start/team.ts'

const DEFINITION = {
  label: 'Bad within 3 months',
  window_months: 3,
  bad_rule_text: '90 days past due',
  maturity_months: 3,
}

/** One applicant as their answer and their outcome, for an independent computation. */
interface Known {
  readonly score: number
  readonly pd: number
  readonly grade: string
  readonly isBad: boolean
}

describe.each(backends)('on $name', (backend) => {
  const teams = TwoTeams.forSuite(backend)
  const { team } = teams

  beforeAll(async () => {
    await team.done('PUT', '/v1/outcome-definitions/gb3', DEFINITION)
  })

  const report = (slug: string, query = '') =>
    team.done('GET', `/v1/deployments/${slug}/performance?definition=gb3${query}`)
  const send = (outcomes: object[]) => team.done('POST', '/v1/outcomes', { outcomes })
  const outcome = (request_id: string, fields: object) => ({
    request_id,
    kind: 'performance',
    definition: 'gb3',
    as_of: '2026-06-30',
    ...fields,
  })

  test('figures equal those counted from the answers, pair by pair', async () => {
    const { slug } = await team.deploy(sampleSpec())
    const challenger = await team.challenge(slug, { ...sampleSpec(), version: 'twin' } as never, 10)
    await team.shadow(slug, true)
    const known: Known[] = []
    const unknown: number[] = []
    const items: object[] = []
    for (const [index, { applicant }] of sampleApplicants().slice(0, 60).entries()) {
      const { request_id, score, pd, risk_grade } = await team.score(slug, applicant)
      if (index % 6 === 5) {
        unknown.push(pd)
        continue
      }
      const isBad = pd > 0.3 ? index % 2 === 0 : index % 7 === 0
      known.push({ score, pd, grade: risk_grade, isBad })
      items.push(outcome(request_id, { outcome: isBad ? 'bad' : 'good' }))
    }
    await statsWith(teams.service, team.owner, slug, 60)
    await send(items)
    const found = await report(slug)

    const bads = known.filter(({ isBad }) => isBad)
    const goods = known.filter(({ isBad }) => !isBad)
    let pairs = 0
    for (const bad of bads) {
      for (const good of goods)
        pairs += good.score > bad.score ? 1 : good.score === bad.score ? 0.5 : 0
    }
    const auc = pairs / bads.length / goods.length
    expect(found).toMatchObject({ n: 50, good: goods.length, bad: bads.length })
    expect(found.auc).toBeCloseTo(auc, 12)
    expect(found.gini).toBeCloseTo(2 * auc - 1, 12)
    const brier = known.reduce((sum, { pd, isBad }) => sum + (pd - (isBad ? 1 : 0)) ** 2, 0) / 50
    expect(found.brier).toBeCloseTo(brier, 12)
    expect(found.coverage).toEqual({
      scored: 60,
      approved: 0,
      booked: 0,
      mature: 0,
      matched: 50,
      good: goods.length,
      bad: bads.length,
      indeterminate: 0,
      excluded: 0,
    })
    const { grades, bands, hosmer_lemeshow } = found.calibration
    for (const { grade, n, bad, mean_pd } of grades) {
      const own = known.filter((one) => one.grade === grade)
      expect([n, bad]).toEqual([own.length, own.filter(({ isBad }) => isBad).length])
      expect(mean_pd).toBeCloseTo(own.reduce((sum, { pd }) => sum + pd, 0) / n, 12)
    }
    expect(hosmer_lemeshow.df).toBe(grades.length)
    const total = (list: { n: number }[]) => list.reduce((sum, { n }) => sum + n, 0)
    expect([total(grades), total(bands)]).toEqual([50, 50])
    for (const { bins } of found.features) expect(total(bins)).toBe(50)
    expect(found.gains.at(-1)).toMatchObject({ cum_count: 50, approval_rate: 1 })
    expect(found.paired).toEqual([
      {
        challenger_id: challenger.id,
        model_id: challenger.modelId,
        n: 50,
        good: goods.length,
        bad: bads.length,
        auc: found.auc,
        champion_auc: found.auc,
        auc_difference: 0,
        auc_difference_low: null,
        auc_difference_high: null,
        se: 0,
        z: null,
        p_value: null,
      },
    ])
    expect(found.expected).toMatchObject({ method: 'cbpe', n: unknown.length })
    const bads3 = unknown.reduce((sum, pd) => sum + pd, 0)
    expect(found.expected.expected_bads).toBeCloseTo(bads3, 12)

    expect(found.ks_interval).toEqual({ method: 'bootstrap', replicates: 1_000, seed: 20_260_101 })
    expect(found.ks_low).toBeLessThan(found.ks_high)
    expect(found.development).toBeNull()
    const fallen = await report(slug, '&development_auc=0.99')
    expect(fallen.development.auc).toBe(0.99)
    expect(fallen.development.s).toBeCloseTo((0.99 - auc) / found.auc_se, 9)
    const faulty = `/v1/deployments/${slug}/performance?definition=gb3&development_auc=99`
    expect(findOutcome(await team.call('GET', faulty))).toBe('400 invalid_request')
    const later = new Date(Date.now() + 60_000).toISOString()
    expect(await report(slug, `&from=${later}`)).toMatchObject({ n: 0, auc: null, gains: [] })
    const twin = await report(slug, `&model=${challenger.modelId}`)
    expect(twin).toMatchObject({ model_id: challenger.modelId, auc: found.auc })
  })

  test('maturity is told and filters nothing; rejects and indeterminates have no figure', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const ids: string[] = []
    for (let n = 0; n < 5; n++) ids.push((await team.score(slug, { income: n })).request_id)
    await statsWith(teams.service, team.owner, slug, 5)
    const [a = '', b = '', c = '', d = '', e = ''] = ids
    const decision = (request_id: string, fields: object) => ({
      request_id,
      kind: 'decision',
      decided_at: '2026-01-02',
      ...fields,
    })
    await send([
      decision(a, { decision: 'approved', booked_at: '2026-03-30' }),
      decision(b, { decision: 'approved', booked_at: '2026-03-31' }),
      decision(c, { decision: 'approved' }),
      decision(d, { decision: 'declined' }),
      outcome(a, { outcome: 'good' }),
      outcome(b, { outcome: 'bad', as_of: '2026-06-29', event_date: '2026-05-31' }),
      outcome(c, { outcome: 'indeterminate' }),
      outcome(e, { outcome: 'excluded', reason: 'deceased' }),
    ])
    const found = await report(slug)
    expect(found).toMatchObject({ n: 2, good: 1, bad: 1 })
    expect(found.coverage).toEqual({
      scored: 5,
      approved: 3,
      booked: 2,
      mature: 1,
      matched: 4,
      good: 1,
      bad: 1,
      indeterminate: 1,
      excluded: 1,
    })
    // Without a good or bad outcome: c, d and e.
    expect(found.expected.n).toBe(3)
    const url = `/v1/deployments/${slug}/performance/vintages?definition=gb3`
    const vintages = await team.done('GET', url)
    expect(vintages).toMatchObject({
      definition: 'gb3',
      vintages: [
        {
          cohort: '2026-03',
          n: 2,
          values: [0, 0, 0.5, 0],
          observed: [2, 2, 2, 1],
          bad: [0, 0, 1, 0],
        },
      ],
    })
  })

  test('one class only has no AUC, Gini or KS', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const { request_id } = await team.score(slug, { income: 1 })
    await send([outcome(request_id, { outcome: 'good' })])
    expect(await report(slug)).toMatchObject({
      n: 1,
      auc: null,
      gini: null,
      ks: null,
      auc_se: null,
    })
  })

  test('an unknown definition, model or deployment is not found', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const ask = (path: string) => team.call('GET', `/v1/deployments/${path}`)
    expect(findOutcome(await ask(`${slug}/performance?definition=none`))).toBe(
      '404 definition_not_found',
    )
    const theirs = await teams.otherTeam.deploy(numberedSpec(1))
    expect(findOutcome(await ask(`${theirs.slug}/performance?definition=gb3`))).toBe(
      '404 deployment_not_found',
    )
    const elsewhere = await team.register(numberedSpec(2), 'staging')
    for (const modelId of [theirs.modelId, elsewhere]) {
      expect(findOutcome(await ask(`${slug}/performance?definition=gb3&model=${modelId}`))).toBe(
        '404 model_not_found',
      )
    }
  })
})
