import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { stepCard } from '../../../support/cards/reason-cards.ts'
import { findOutcome } from '../../../support/expect/answers.ts'
import { statsWith } from '../../../support/expect/stats.ts'
import { backends } from '../../../support/start/databases.ts'
import { TwoTeams } from '../../../support/start/team.ts'

/** Values of a and b, with a reference. */
type Applicant = readonly [a: number, b: number, reference?: string]

/** Four applicants; X applied twice and Y three times, each better at last. */
const APPLICANTS: readonly Applicant[] = [
  [0, 0],
  [2, 0],
  [1, 1],
  [2, 2],
  [0, 0, 'X'],
  [1, 2, 'X'],
  [1, 1, 'Y'],
  [0, 2, 'Y'],
  [2, 2, 'Y'],
]

describe.each(backends)('on $name', (backend) => {
  const teams = TwoTeams.forSuite(backend)
  const { team } = teams

  const at = (slug: string, end: string) => `/v1/deployments/${slug}${end}`
  const send = (slug: string, [a, b, reference]: Applicant, query = '') =>
    team.service.call({
      url: `/v1/score/${slug}${query}`,
      token: team.key,
      body: { a, b },
      ...(reference !== undefined && { headers: { 'x-reference-id': reference } }),
    })

  /** A deployment that has scored the applicants. */
  async function scored(method: string, card: object = stepCard({ method })) {
    const { slug, modelId } = await team.deploy(card)
    for (const applicant of APPLICANTS) {
      await send(slug, applicant)
      // Each in a millisecond of its own, so that the last one is known.
      await delay(2)
    }
    await statsWith(team.service, team.owner, slug, APPLICANTS.length)
    return { slug, modelId }
  }

  async function findActive(slug: string, model_id: string, order: object): Promise<string> {
    const body = { model_id, min_population: 1, ...order }
    const { id } = await team.done('POST', at(slug, '/reason-baselines'), body)
    await team.done('PUT', at(slug, '/reason-baseline'), { model_id, baseline_id: id })
    return id
  }

  test('mean_all averages every scoring of a model', async () => {
    const { slug, modelId } = await scored('mean_all')
    const order = { model_id: modelId, method: 'mean_all', min_population: 9 }
    const baseline = await team.done('POST', at(slug, '/reason-baselines'), order)
    // a: 0 20 10 20 0 10 10 0 20, b: 0 0 10 20 0 20 10 20 20
    expect(baseline).toMatchObject({
      model_id: modelId,
      method: 'mean_all',
      cutoff: null,
      band_points: null,
      from: null,
      n: 9,
      dedupe: 'none',
      per_feature: { a: 10, b: 100 / 9 },
    })
    expect(baseline.mean_total).toBeCloseTo(100 + 10 + 100 / 9, 12)
    const { reason_baselines } = await team.done('GET', at(slug, '/reason-baselines'))
    expect(reason_baselines).toEqual([{ ...baseline, is_in_force: false }])
    const few = await team.call('POST', at(slug, '/reason-baselines'), {
      ...order,
      min_population: 10,
    })
    expect(findOutcome(few)).toBe('422 population_too_small')
  })

  test('mean_at_cutoff counts the last scoring of each reference, if it lies in the band', async () => {
    const { slug, modelId } = await scored('mean_at_cutoff')
    const order = { model_id: modelId, method: 'mean_at_cutoff', cutoff: 120, min_population: 1 }
    const baseline = await team.done('POST', at(slug, '/reason-baselines'), order)
    // In [120, 130]: (2, 0) and (1, 1) with 120, X's last with 130; Y's last has 140.
    expect(baseline).toMatchObject({ cutoff: 120, band_points: 10, n: 3, dedupe: 'last' })
    expect(baseline.per_feature).toEqual({ a: 40 / 3, b: 10 })
    const exact = await team.done('POST', at(slug, '/reason-baselines'), {
      ...order,
      band_points: 0,
    })
    expect(exact).toMatchObject({ n: 2, per_feature: { a: 15, b: 5 }, mean_total: 120 })
    const missing = { model_id: modelId, method: 'mean_at_cutoff' }
    const answer = await team.call('POST', at(slug, '/reason-baselines'), missing)
    expect(findOutcome(answer)).toBe('400 invalid_request')
  })

  test('a baseline has an effect from when it is in force, and earlier reasons stay', async () => {
    const { slug, modelId } = await scored('mean_all')
    const refused = await send(slug, [0, 0], '?reasons=4')
    expect(findOutcome(refused)).toBe('422 reasons_not_configured')
    const before = (await send(slug, [0, 0])).json()
    const drained = (more: number) =>
      statsWith(team.service, team.owner, slug, APPLICANTS.length + more)
    await drained(1)
    const first = await findActive(slug, modelId, { method: 'mean_all', cutoff: 120 })
    const answer = (await send(slug, [0, 2], '?reasons=4')).json()
    expect(answer).toMatchObject({
      reasons: [{ rank: 1, code: 'A', text: 'A', distance: 9, features: ['a'] }],
      reason_method: { method: 'mean_all', baseline_id: first, cutoff: 120, population_n: 10 },
    })
    await drained(2)
    const second = await findActive(slug, modelId, { method: 'mean_all' })
    const later = (await send(slug, [0, 2], '?reasons=4')).json()
    expect(later.reason_method).toMatchObject({ baseline_id: second, population_n: 11 })
    const explain = (id: string) => team.done('GET', `/v1/scores/${id}/explanation`)
    const { reasons, reason_method, key_factors, score_range } = answer
    expect(await explain(answer.request_id)).toMatchObject({
      reasons,
      reason_method,
      key_factors,
      score_range,
    })
    await drained(3)
    expect(await explain(answer.request_id)).toMatchObject({ reasons, reason_method })
    expect(await explain(before.request_id)).toMatchObject({
      reasons: null,
      reason_method: null,
      key_factors: [],
      counterfactuals: { target: { risk_grade: 'B' } },
    })
    const { records } = await team.done('GET', '/v1/audit-log')
    const isOfBaseline = ({ action }: { action: string }) => /reason_baseline$/.test(action)
    expect(records.find(isOfBaseline)).toMatchObject({
      action: 'deployment.set_reason_baseline',
      after: {
        cache_version: 3,
        reason_baseline: {
          model_id: modelId,
          baseline_id: second,
          replaced_baseline_id: first,
        },
      },
    })
  })

  test('a score is explained with what would have changed it', async () => {
    const { slug } = await team.deploy(stepCard({ method: 'max' }))
    const { request_id } = (await send(slug, [0, 1])).json()
    const explain = (query: string) =>
      team.done('GET', `/v1/scores/${request_id}/explanation${query}`)
    expect(await explain('')).toMatchObject({
      request_id,
      record_index: 0,
      score: 110,
      risk_grade: 'C',
      cutoff: null,
      reasons: [
        { code: 'A', distance: 20 },
        { code: 'B', distance: 10 },
      ],
      counterfactuals: {
        need: 5,
        target: { risk_grade: 'B' },
        single: [
          { feature: 'a', bin: { index: 1, range: '(0, 1]' }, gain: 10 },
          { feature: 'b', bin: { index: 2 }, gain: 10 },
          { feature: 'a', bin: { index: 2 }, gain: 20 },
        ],
        least_set: null,
      },
      sensitivity: [
        {
          feature: 'a',
          bins: [
            { index: 1, points: 10, score: 120, risk_grade: 'B' },
            { index: 2, points: 20, score: 130, risk_grade: 'A' },
            { index: 3, points: 0, score: 110, risk_grade: 'C' },
          ],
        },
        { feature: 'b', bins: [{ score: 100 }, { score: 120 }, { score: 100 }] },
      ],
      features: [
        { name: 'a', points: 0, text: 'a: up to 0, 0 points of at most 20' },
        { name: 'b', points: 10, text: 'b: above 0 up to 1, 10 points of at most 20' },
      ],
    })
    expect((await explain('?cutoff=135')).counterfactuals).toMatchObject({
      need: 25,
      target: { cutoff: 135 },
      single: [],
      least_set: [
        { feature: 'a', gain: 20 },
        { feature: 'b', gain: 10 },
      ],
    })
    expect((await explain('?cutoff=141')).counterfactuals.least_set).toBeNull()
    expect((await explain('?cutoff=110')).counterfactuals).toEqual({
      need: 0,
      target: { cutoff: 110 },
      single: [],
      least_set: null,
    })
  })

  test('a batch is explained record by record', async () => {
    const { slug } = await team.deploy(stepCard({ method: 'max' }))
    const body = {
      records: [
        { a: 2, b: 2 },
        { a: 0, b: 2 },
      ],
    }
    const { request_id } = (
      await team.service.call({ url: `/v1/score/${slug}/batch`, token: team.key, body })
    ).json()
    const url = `/v1/scores/${request_id}/explanation`
    expect(findOutcome(await team.call('GET', url))).toBe('400 invalid_request')
    expect(findOutcome(await team.call('GET', `${url}?record=2`))).toBe('404 score_not_found')
    const found = await team.done('GET', `${url}?record=1`)
    expect(found).toMatchObject({ record_index: 1, score: 120, reasons: [{ code: 'A' }] })
    const best = await team.done('GET', `${url}?record=0`)
    expect(best).toMatchObject({ reasons: [], no_adverse_factor: true })
    expect(best.counterfactuals).toMatchObject({ need: 0, target: null })
  })

  test('methods are compared over the declines', async () => {
    const { slug } = await scored('mean_all')
    const body = { methods: ['mean_at_cutoff', 'mean_all', 'max'], cutoff: 120 }
    const report = await team.done('POST', at(slug, '/reason-method-report'), body)
    // Only (0, 0) is a last scoring below 120: B is first against mean_all, whose b is higher.
    expect(report).toEqual({
      n: 1,
      cutoff: 120,
      pairs: [
        { a: 'mean_at_cutoff', b: 'mean_all', same_first: 0, same_set: 1, mean_jaccard: 1 },
        { a: 'mean_at_cutoff', b: 'max', same_first: 1, same_set: 1, mean_jaccard: 1 },
        { a: 'mean_all', b: 'max', same_first: 0, same_set: 1, mean_jaccard: 1 },
      ],
    })
    const without = await team.call('POST', at(slug, '/reason-method-report'), {
      methods: ['mean_all', 'max'],
    })
    expect(findOutcome(without)).toBe('400 invalid_request')
  })
  test('a card without a scaling is compared with a band that the caller names', async () => {
    const { scaling: _, ...card } = stepCard({ method: 'mean_all' })
    const { slug } = await scored('mean_all', { ...card, has_pd: false })
    const url = at(slug, '/reason-method-report')
    const body = { methods: ['mean_at_cutoff', 'max'], cutoff: 120 }
    const refused = await team.call('POST', url, body)
    expect(findOutcome(refused)).toBe('400 invalid_request')
    expect(refused.json().message).toContain('band_points')
    const report = await team.done('POST', url, { ...body, band_points: 10 })
    expect(report).toMatchObject({ n: 1, pairs: [{ same_first: 1, same_set: 1 }] })
  })
})
