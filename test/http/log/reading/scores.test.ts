import { setTimeout as delay } from 'node:timers/promises'
import type { Static } from '@sinclair/typebox'
import { describe, expect, test } from 'vitest'
import type { LoggedScore } from '../../../../schemas/scores.ts'
import { newId } from '../../../../src/platform/ids.ts'
import {
  card,
  categorical,
  numeric,
  sampleApplicants,
  sampleSpec,
} from '../../../support/cards/cards.ts'
import { findOutcome } from '../../../support/expect/answers.ts'
import { statsWith } from '../../../support/expect/stats.ts'
import { backends } from '../../../support/start/databases.ts'
import { type Team, TwoTeams } from '../../../support/start/team.ts'

/** Every outcome of a feature, on a card with odd points. */
const OUTCOMES = card(
  [
    numeric('age', [
      ['(-Infinity, 25]', -12.1],
      ['(30, Infinity)', 9.3],
      ['Missing', 0.7],
    ]),
    categorical('purpose', [
      ['car%,%furniture, other', 4.2],
      ['Missing', -7.9],
    ]),
    numeric('income', [['[0, 10)', 1.1]]),
    categorical('job', [['clerk', 2.3]]),
  ],
  { name: 'Outcomes', version: '3', base_points: 448.6 },
)

type Read = Static<typeof LoggedScore>

/** The score that base points and points add up to, in the order of the answer. */
const computeSum = (result: { base_points: number; features: readonly { points: number }[] }) =>
  result.features.reduce((sum, { points }) => sum + points, result.base_points)

describe.each(backends)('on $name', (backend) => {
  const teams = TwoTeams.forSuite(backend)
  const { team } = teams

  /** The service checks each answer against its documentation. */
  const read = (requestId: string, query = ''): Promise<Read> =>
    team.done('GET', `/v1/scores/${requestId}${query}`)
  const drained = (slug: string, total: number) => statsWith(teams.service, team.owner, slug, total)

  // What a lender shows to an auditor must be what the applicant was told, to the bit.
  test('a score is read back as it was answered, before and after the database has it', async () => {
    const { slug, modelId } = await team.deploy(sampleSpec())
    const applicants = sampleApplicants().slice(0, 20)
    for (const { applicant, contributions } of applicants) {
      const answer = await team.score(slug, applicant)
      const logged = await read(answer.request_id)
      expect(logged).toMatchObject({
        request_id: answer.request_id,
        deployment_id: slug,
        scored_at: answer.scored_at,
        bucket: null,
        reference: null,
        is_batch: false,
        total: 1,
        cache_version: 1,
      })
      const [record] = logged.records
      const [result] = record?.results ?? []
      expect([logged.records.length, record?.index, record?.id]).toEqual([1, 0, null])
      expect(result).toMatchObject({
        model_id: modelId,
        role: 'champion',
        challenger_id: null,
        served: true,
        score: answer.score,
        pd: answer.pd,
        risk_grade: answer.risk_grade,
        model_name: answer.model_name,
        model_version: answer.model_version,
      })
      const points = result?.features.map(({ name, points }) => [name, points]) ?? []
      expect(points).toEqual(Object.entries(answer.contributions))
      expect(Object.fromEntries(points)).toEqual(contributions)
      expect(computeSum(result as never)).toBe(answer.score)
    }
    const last = await team.score(slug, applicants[0]?.applicant ?? {})
    const fromSpool = await read(last.request_id)
    await drained(slug, applicants.length + 1)
    expect(await read(last.request_id)).toEqual(fromSpool)
  })

  test('each outcome of a feature has its points and its bin', async () => {
    const { slug } = await team.deploy(OUTCOMES)
    const listFeatures = async (applicant: object) => {
      const { request_id, score } = await team.score(slug, applicant)
      const [result] = (await read(request_id)).records[0]?.results ?? []
      expect(computeSum(result as never)).toBe(score)
      return result?.features.map(({ points, outcome, bin }) => [points, outcome, bin])
    }
    expect(await listFeatures({ age: 25, purpose: 'car', income: 5, job: 'clerk' })).toEqual([
      [-12.1, 'matched', { index: 0, range: '(-Infinity, 25]' }],
      [4.2, 'matched', { index: 0, value: 'car%,%furniture, other' }],
      [1.1, 'matched', { index: 0, range: '[0, 10)' }],
      [2.3, 'matched', { index: 0, value: 'clerk' }],
    ])
    expect(await listFeatures({ age: null })).toEqual([
      [0.7, 'missing', { index: 2, range: 'Missing' }],
      [-7.9, 'missing', { index: 1, value: 'Missing' }],
      [0, 'missing', null],
      [0, 'missing', null],
    ])
    expect(await listFeatures({ age: 27, purpose: 'boat', income: 'x', job: 'cook' })).toEqual([
      [0, 'no_bin', null],
      [-7.9, 'unseen_category', { index: 1, value: 'Missing' }],
      [0, 'not_a_number', null],
      [0, 'unseen_category', null],
    ])
  })

  test('the label of a bin is shown, in English if there is a choice', async () => {
    const bins = [
      { range: '(-Infinity, 0]', points: 1, label: { de: 'keines', en: 'none' } },
      { range: '(0, Infinity)', points: 2, label: 'some' },
    ]
    const spec = card([{ name: 'income', type: 'numeric', bins }])
    const { slug } = await team.deploy(spec)
    const readLabel = async (income: number) => {
      const { request_id } = await team.score(slug, { income })
      return (await read(request_id)).records[0]?.results[0]?.features[0]?.bin?.label
    }
    expect([await readLabel(0), await readLabel(1)]).toEqual(['none', 'some'])
  })

  test('every model that scored is there, the champion first, and who answered', async () => {
    const { slug, modelId } = await team.deploy(OUTCOMES)
    const challenger = { ...OUTCOMES, version: '4', base_points: 500 }
    const entry = await team.challenge(slug, challenger, 20)
    await team.shadow(slug, true)
    const { request_id, score, shadow_scores } = await team.score(slug, { age: 40 })
    const logged = await read(request_id)
    expect(logged.records[0]?.results).toMatchObject([
      { model_id: modelId, role: 'champion', served: true, score, challenger_id: null },
      {
        model_id: entry.modelId,
        role: 'challenger',
        served: false,
        challenger_id: entry.id,
        score: shadow_scores[0].score,
        base_points: 500,
      },
    ])
    expect(logged.cache_version).toBeGreaterThan(1)
  })

  test('a batch comes in pages, and one record of it alone', async () => {
    const { slug } = await team.deploy(OUTCOMES)
    const records = Array.from({ length: 7 }, (_, n) => ({ id: n % 2 ? n : `a ${n} "ß"`, age: n }))
    const answer = await team.scoreBatch(slug, records)
    const whole = await read(answer.request_id)
    expect(whole).toMatchObject({ is_batch: true, total: 7, reference: null })
    expect(whole.next_cursor).toBeUndefined()
    expect(whole.records.map(({ index, id }) => [index, id])).toEqual(
      records.map(({ id }, index) => [index, id]),
    )
    expect(whole.records.map(({ results }) => results[0]?.score)).toEqual(
      answer.results.map(({ score }: { score: number }) => score),
    )
    const pages = await team.listPages(`/v1/scores/${answer.request_id}`, 'records', 3)
    expect(pages.map((page) => page.length)).toEqual([3, 3, 1])
    expect(pages.flat()).toEqual(whole.records)
    const one = await read(answer.request_id, '?record=4')
    expect(one).toEqual({ ...whole, records: whole.records.slice(4, 5) })
    const beyond = await team.call('GET', `/v1/scores/${answer.request_id}?record=7`)
    expect(findOutcome(beyond)).toBe('404 score_not_found')
    expect(await read((await team.scoreBatch(slug, [])).request_id)).toMatchObject({
      total: 0,
      records: [],
    })
  })

  // A score of another team or environment must look like one that does not exist.
  test('only the own team and environment find a score', async () => {
    const { service, otherTeam } = teams
    const { slug } = await team.deploy(OUTCOMES, 'staging')
    const { request_id } = await team.score(slug, { age: 1 })
    const outcome = async (token: string, id = request_id) =>
      findOutcome(await service.call({ method: 'GET', url: `/v1/scores/${id}`, token }))
    const key = (order: object) => service.createKey(team.owner, order)
    expect(await outcome(await key({ scopes: ['read'] }))).toBe('200')
    expect(await outcome(await key({ scopes: ['read'], environment: 'staging' }))).toBe('200')
    expect(await outcome(teams.readToken('viewer'))).toBe('200')
    const hidden = '404 score_not_found'
    expect(await outcome(await key({ scopes: ['read'], environment: 'production' }))).toBe(hidden)
    expect(await outcome(otherTeam.owner)).toBe(hidden)
    expect(await outcome(team.owner, newId('req_', Date.now()))).toBe(hidden)
    expect(await outcome(team.owner, 'nothing')).toBe(hidden)
    expect(await outcome(await key({ scopes: ['score'] }))).toBe('401 unauthorized')
  })

  test('records of batches are found by their ids as references, newest first', async () => {
    const { slug } = await team.deploy(OUTCOMES)
    const other = await team.deploy(OUTCOMES)
    const first = await team.scoreBatch(slug, [{ id: 'A-1', age: 1 }, { id: 7 }, { id: '7' }])
    await delay(2)
    const second = await team.scoreBatch(other.slug, [{ id: 'x' }, { id: 'A-1', age: 40 }])
    await drained(slug, 3)
    await drained(other.slug, 2)
    const find = async (query: string) => (await team.done('GET', `/v1/scores?${query}`)).scores
    expect(await find('reference=A-1')).toEqual([
      {
        request_id: second.request_id,
        record_index: 1,
        deployment_id: other.slug,
        scored_at: second.scored_at,
        score: second.results[1].score,
        risk_grade: null,
        pd: second.results[1].pd,
        model_version: '3',
        reference: 'A-1',
      },
      expect.objectContaining({ request_id: first.request_id, record_index: 0 }),
    ])
    const sevens = await find('reference=7')
    expect(sevens.map((one: { record_index: number }) => one.record_index)).toEqual([2, 1])
    expect(await find(`reference=A-1&deployment=${slug}`)).toHaveLength(1)
    expect(await find(`reference=A-1&from=${second.scored_at}`)).toHaveLength(1)
    expect(await find(`reference=A-1&to=${second.scored_at}`)).toHaveLength(1)
    expect(await find('reference=A')).toEqual([])
    const pages = await team.listPages('/v1/scores?reference=7', 'scores', 1)
    expect(pages).toEqual(sevens.map((one: object) => [one]))
    const theirs = await teams.otherTeam.done('GET', '/v1/scores?reference=A-1')
    expect(theirs.scores).toEqual([])
    const production = await teams.service.createKey(team.owner, {
      scopes: ['read'],
      environment: 'staging',
    })
    const url = '/v1/scores?reference=A-1'
    const ofKey = await teams.service.call({ method: 'GET', url, token: production })
    expect(ofKey.json().scores).toEqual([])
  })

  // Whoever has a complaint in hand often has a part of the number, in capitals or not.
  test('scores are found by any part of their reference, in any case, by their team alone', async () => {
    const { slug } = await team.deploy(sampleSpec())
    const [one] = sampleApplicants()
    const { request_id } = await teams.service
      .call({
        url: `/v1/score/${slug}`,
        token: team.key,
        body: one?.applicant ?? {},
        headers: { 'x-reference-id': 'Branch7-Xy4711' },
      })
      .then((answer) => answer.json())
    await delay(2)
    const records = [
      { id: 'XY4711-b', ...one?.applicant },
      { id: 47, ...one?.applicant },
    ]
    const batch = await team.scoreBatch(slug, records)
    await drained(slug, 3)
    const find = async (by: Team, query: string) => {
      const { scores } = await by.done('GET', `/v1/scores?${query}`)
      return scores.map((found: { request_id: string; reference: string }) => [
        found.request_id,
        found.reference,
      ])
    }
    const both = [
      [batch.request_id, 'XY4711-b'],
      [request_id, 'Branch7-Xy4711'],
    ]
    expect(await find(team, `reference=xy47&match=part`)).toEqual(both)
    expect(await find(team, `reference=XY4711&match=part&deployment=${slug}`)).toEqual(both)
    expect(await find(team, 'reference=xy4711-B&match=part')).toEqual([both[0]])
    expect(await find(team, 'reference=xy4711&match=whole')).toEqual([])
    expect(await find(teams.otherTeam, 'reference=xy47&match=part')).toEqual([])
  })

  test('single scores are found by their reference, page by page over both kinds', async () => {
    const { service } = teams
    const { slug } = await team.deploy(OUTCOMES)
    const scored: string[] = []
    for (let n = 0; n < 5; n++) {
      const response = await service.call({
        url: `/v1/score/${slug}`,
        token: team.key,
        body: { age: n },
        headers: { 'x-reference-id': n === 2 ? 'other' : 'L-42' },
      })
      if (n !== 2) scored.unshift(response.json().request_id)
      await delay(2)
    }
    const batch = await team.scoreBatch(slug, [{ id: 'L-42' }, { id: 'L-42' }, { id: 'x' }])
    await drained(slug, 8)
    const found = await team.done('GET', '/v1/scores?reference=L-42')
    const ids = found.scores.map((one: { request_id: string }) => one.request_id)
    expect(ids).toEqual([batch.request_id, batch.request_id, ...scored])
    expect(await team.listPages('/v1/scores?reference=L-42', 'scores', 2)).toEqual([
      found.scores.slice(0, 2),
      found.scores.slice(2, 4),
      found.scores.slice(4),
    ])
    const [requestId = ''] = scored
    expect(await read(requestId)).toMatchObject({ reference: 'L-42', is_batch: false })
  })

  test.each([
    '',
    '?reference=',
    '?reference=a&cursor=x',
    '?reference=a&limit=0',
    '?reference=a&x=1',
  ])('a list with the query "%s" is refused', async (query) => {
    expect(findOutcome(await team.call('GET', `/v1/scores${query}`))).toBe('400 invalid_request')
  })
})
