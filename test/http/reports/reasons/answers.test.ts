import { beforeAll, describe, expect, test } from 'vitest'
import { dmgCard } from '../../../support/cards/reason-cards.ts'
import { findOutcome } from '../../../support/expect/answers.ts'
import { backends } from '../../../support/start/databases.ts'
import { numberedSpec, TwoTeams } from '../../../support/start/team.ts'

const ENGINEER = { department: 'engineering', age: 25, income: 500 }
const REASONS = [
  {
    rank: 1,
    code: 'RC2',
    text: 'Age',
    distance: 18,
    features: ['age'],
    bin_labels: ['(18, 29]'],
  },
  {
    rank: 2,
    code: 'RC1',
    text: 'Department',
    distance: 16,
    features: ['department'],
    bin_labels: ['engineering'],
  },
]
const METHOD = {
  method: 'fixed',
  baseline_id: null,
  baseline_basis: 'other',
  cutoff: null,
  population_n: null,
  from: null,
  to: null,
}
const ADDED = {
  reasons: REASONS,
  key_factors: ['RC2', 'RC1'],
  reason_method: METHOD,
  score_range: { min: -6, max: 54 },
}

/** An answer without what differs from request to request. */
const comparable = (body: string) => body.replaceAll(/"(?:request_id|scored_at)":"[^"]*"/g, '"":""')

describe.each(backends)('on $name', (backend) => {
  const teams = TwoTeams.forSuite(backend)
  const { team } = teams
  let slug: string

  beforeAll(async () => {
    slug = (await team.deploy(dmgCard())).slug
  })

  const send = (url: string, body: object) => team.service.call({ url, token: team.key, body })
  const score = async (query: string, body: object = ENGINEER) => {
    const response = await send(`/v1/score/${slug}${query}`, body)
    expect(response.statusCode, response.body).toBe(200)
    return response.json()
  }

  test('a score has its reasons only when they are asked for, and is else the same', async () => {
    const plain = await send(`/v1/score/${slug}`, ENGINEER)
    const asked = await send(`/v1/score/${slug}?reasons=4`, ENGINEER)
    const { reasons, key_factors, reason_method, score_range } = asked.json()
    expect({ reasons, key_factors, reason_method, score_range }).toEqual(ADDED)
    const start = comparable(plain.body).slice(0, -1)
    expect(comparable(asked.body).slice(0, start.length)).toBe(start)
    const unknown = await send(`/v1/score/${slug}?lang=es`, ENGINEER)
    expect(comparable(unknown.body)).toBe(comparable(plain.body))
  })

  test('texts are in the language asked for, else in the next best one', async () => {
    const textsIn = async (lang: string) =>
      (await score(`?reasons=4&lang=${lang}`)).reasons.map(({ text }: { text: string }) => text)
    expect(await textsIn('es-MX')).toEqual(['Edad', 'Department'])
    expect(await textsIn('fr')).toEqual(['Age', 'Department'])
  })

  test('the number bounds the list, and nothing fills it', async () => {
    expect((await score('?reasons=1')).reasons).toEqual(REASONS.slice(0, 1))
    const best = { department: 'marketing', age: 60, income: 1 }
    expect(await score('?reasons=10', best)).toMatchObject({
      reasons: [{ code: 'RC1', distance: 9 }],
    })
    const none = await team.deploy({
      ...dmgCard(),
      features: dmgCard().features.map((feature) => ({ ...feature, reason_baseline: -100 })),
    })
    const answer = await send(`/v1/score/${none.slug}?reasons=2`, ENGINEER)
    expect(answer.json()).toMatchObject({ reasons: [], no_adverse_factor: true, key_factors: [] })
    expect(await score('?reasons=4')).not.toHaveProperty('no_adverse_factor')
  })

  test('a batch has the reasons of each record, and the method once', async () => {
    const body = { records: [{ id: 'a', ...ENGINEER }, {}], include_reasons: true, lang: 'es' }
    const answer = (await send(`/v1/score/${slug}/batch`, body)).json()
    const { reason_method, score_range } = ADDED
    expect(answer).toMatchObject({ total: 2, reason_method, score_range })
    expect(answer.results[0]).toMatchObject({
      id: 'a',
      reasons: [{ text: 'Edad' }, { text: 'Department' }],
      key_factors: ['RC2', 'RC1'],
    })
    expect(answer.results[0]).not.toHaveProperty('reason_method')
    expect(answer.results[1].reasons).toMatchObject([
      { code: 'RC1', distance: 19, bin_labels: ['Missing'] },
      { code: 'RC2', distance: 18, bin_labels: ['Missing'] },
      { code: 'RC3', distance: 10, bin_labels: ['Missing'] },
    ])
    const plain = (
      await send(`/v1/score/${slug}/batch`, { ...body, include_reasons: false })
    ).json()
    expect(plain.results[0]).not.toHaveProperty('reasons')
    expect(plain).not.toHaveProperty('reason_method')
  })

  test('/api/v1 gives the same reasons', async () => {
    const order = { scorecard_id: slug, include_reasons: 4, lang: 'en' }
    const single = (await send('/api/v1/score', { ...order, applicant: ENGINEER })).json()
    expect(single).toMatchObject(ADDED)
    const batch = await send('/api/v1/score/batch', { ...order, applicants: [ENGINEER] })
    expect(batch.json().results[0].reasons).toEqual(REASONS)
  })

  test.each(['?reasons=0', '?reasons=11', '?reasons=x', '?reasons=4&lang=e', '?reasons=2.5'])(
    'the query %s is refused',
    async (query) => {
      expect(findOutcome(await send(`/v1/score/${slug}${query}`, ENGINEER))).toBe(
        '400 invalid_request',
      )
    },
  )

  test.each([0, 11, 'all', null])('include_reasons %j is refused', async (include_reasons) => {
    const answer = await send(`/v1/score/${slug}/batch`, { records: [], include_reasons })
    expect(findOutcome(answer)).toBe('400 invalid_request')
  })

  // Else whether a caller gets reasons would depend on the draw.
  test('every model that could answer must have reasons', async () => {
    const other = await team.deploy(numberedSpec(1))
    const refused = '422 reasons_not_configured'
    expect(findOutcome(await send(`/v1/score/${other.slug}?reasons=4`, {}))).toBe(refused)
    const needy = await team.deploy({
      ...dmgCard(),
      reasons: { version: 1, method: 'mean_at_cutoff' },
    })
    expect(findOutcome(await send(`/v1/score/${needy.slug}?reasons=4`, {}))).toBe(refused)
    const batch = { records: [{}], include_reasons: 2 }
    expect(findOutcome(await send(`/v1/score/${needy.slug}/batch`, batch))).toBe(refused)
    const mixed = await team.deploy(dmgCard())
    await team.traffic(mixed.slug, { action: 'toggle_shadow', shadow_mode: true })
    await team.challenge(mixed.slug, numberedSpec(2), 5)
    const asked = () => send(`/v1/score/${mixed.slug}?reasons=4`, ENGINEER)
    expect((await asked()).json().reasons).toEqual(REASONS)
    await team.traffic(mixed.slug, { action: 'toggle_shadow', shadow_mode: false })
    expect(findOutcome(await asked())).toBe(refused)
  })
})
