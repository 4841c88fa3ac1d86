import { beforeAll, describe, expect, test } from 'vitest'
import {
  ScoreBatchResult,
  ScorecardBatchResult,
  ScorecardScoreResult,
  ScoreResult,
} from '../../../schemas/scoring.ts'
import { card, categorical, numeric, plainFeature } from '../../support/cards/cards.ts'
import { expectSuccess, formatJson } from '../../support/expect/answers.ts'
import { contributionsInOrder } from '../../support/expect/contribution-order.ts'
import type { NaiveSpec } from '../../support/naive/naive-evaluator.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'

const AT = Date.parse('2026-03-04T05:06:07.089Z')
const clock = { epochMs: () => AT, monotonicMs: () => performance.now() }

/** Names that mean something to JavaScript, to JSON or to a template. */
const HOSTILE = [
  '10',
  '2',
  '-1',
  '01',
  'toString',
  'constructor',
  'hasOwnProperty',
  'valueOf',
  '__defineGetter__',
  'prototype',
  'length',
  'then',
  'toJSON',
  '"',
  "'",
  '\\',
  '\\"',
  '","x":1,"',
  '}',
  '</script>',
  '$&',
  '%,%',
  'a.b[0]',
  'line\nbreak',
  '\r\n\t\b\f',
  '\u2028\u2029',
  '\0',
  '\ud800',
  '🦄',
  'é',
  'e\u0301',
  ' ',
  'Missing',
  'null',
  'warnings',
  'request_id',
  'score',
]

const hostile = card(HOSTILE.map(plainFeature), {
  name: 'Card "quoted" \\ 🦄',
  version: '1.0-"β"\n',
  risk_grades: [{ grade: 'A"+\n🦄', min_score: null, max_score: null }],
})

// What is tested here happens in memory: the databases differ in what other files test.
describe.each(backends.slice(-1))('on $name', (backend) => {
  const service = TestService.forSuite(backend, { clock })
  let owner: string
  let key: string

  beforeAll(async () => {
    owner = await service.signIn()
    key = await service.createKey(owner)
  })

  const post = (url: string, body: object | string) => service.call({ url, token: key, body })
  const deploy = (spec: NaiveSpec) => service.deploy(owner, spec)

  // The service writes this text itself: a field less, or one more, would go out unnoticed.
  test('each of the four answers is what its schema declares, and exactly that', async () => {
    const spec = card([plainFeature('income'), categorical('home', [['own', 5]])], {
      name: 'Loans',
      risk_grades: [{ grade: 'A', min_score: 0, max_score: 500 }],
    })
    const slug = await deploy(spec)
    const applicant = { income: 5, home: 'rented', pet: true }
    const scored = { score: 102, risk_grade: 'A', pd: expect.any(Number) }
    const unmatched = {
      type: 'no_bin_match',
      variable: 'home',
      value: 'rented',
      message: expect.any(String),
    }
    const unknown = { type: 'unknown_variable', variable: 'pet', message: expect.any(String) }
    const warnings = [unmatched, unknown]
    const contributions = { income: 2, home: 0 }
    const request = { request_id: expect.any(String), scored_at: '2026-03-04T05:06:07.089Z' }
    const model = { model_version: '1.2.3', model_name: 'Loans', spec_version: '1.0' }
    const single = { ...scored, ...model, ...request, deployment_id: slug, contributions, warnings }
    const record = { id: 'a', ...scored, warnings }
    const batch = { results: [record], total: 1, model_version: '1.2.3', ...request }

    const one = await post(`/v1/score/${slug}`, applicant)
    expect(expectSuccess(one, ScoreResult)).toEqual(single)
    const many = await post(`/v1/score/${slug}/batch`, { records: [{ id: 'a', ...applicant }] })
    expect(expectSuccess(many, ScoreBatchResult)).toEqual({ ...batch, deployment_id: slug })
    const ids = { scorecard_id: slug, deployment_id: slug }
    const guideOne = await post('/api/v1/score', { scorecard_id: slug, applicant })
    expect(expectSuccess(guideOne, ScorecardScoreResult)).toEqual({ ...single, ...ids })
    const guideMany = await post('/api/v1/score/batch', {
      scorecard_id: slug,
      applicants: [{ id: 'a', ...applicant }],
    })
    expect(expectSuccess(guideMany, ScorecardBatchResult)).toEqual({ ...batch, ...ids })
  })

  // Support finds a decision by this id; two decisions with one id could not be told apart.
  test('request_id names the request of the header, and no other one', async () => {
    const slug = await deploy(card([plainFeature('income')]))
    const ids = new Set<string>()
    for (let round = 0; round < 20; round++) {
      for (const [url, body] of [
        [`/v1/score/${slug}`, {}],
        [`/v1/score/${slug}/batch`, { records: [{}] }],
      ] as const) {
        const response = await post(url, body)
        ids.add(formatJson(response).request_id)
        expect(formatJson(response).request_id).toBe(response.headers['x-request-id'])
      }
    }
    expect(ids.size).toBe(40)
  })

  // A client that could choose the id could make two decisions look like one.
  test('a request id that the client sends is not taken over', async () => {
    const slug = await deploy(card([plainFeature('income')]))
    const headers = { 'x-request-id': 'req_chosen', 'request-id': 'req_chosen' }
    const response = await service.call({ url: `/v1/score/${slug}`, token: key, body: {}, headers })
    expect(formatJson(response).request_id).not.toBe('req_chosen')
  })

  // Reasons are given in the order in which the modeler wrote them; JSON.stringify would sort "10".
  test('contributions stand in the order of the spec, whatever the names and the order of the applicant', async () => {
    const slug = await deploy(hostile)
    const reversed = HOSTILE.toReversed().map((name) => [name, 7])
    const body = JSON.stringify(Object.fromEntries(reversed))
    const expected = HOSTILE.map((name) => [name, 2])
    const single = await post(`/v1/score/${slug}`, body)
    expect(contributionsInOrder(single.body)).toEqual(expected)
    const record = JSON.parse(body)
    const order = { records: [record], include_contributions: true }
    const batch = await post(`/v1/score/${slug}/batch`, order)
    expect(contributionsInOrder(batch.body)).toEqual(expected)
  })

  // Such a name, read as JavaScript's own, would give everyone the points of a missing value.
  test('features of any name are read from the applicant, and are missing if it has none', async () => {
    const slug = await deploy(hostile)
    for (const [value, points] of [
      [-1, 1],
      [1, 2],
      [null, 3],
      [undefined, 3],
    ] as const) {
      const applicant = Object.fromEntries(HOSTILE.map((name) => [name, value]))
      const response = await post(`/v1/score/${slug}`, applicant)
      expect(expectSuccess(response, ScoreResult)).toMatchObject({
        score: 100 + points * HOSTILE.length,
        contributions: Object.fromEntries(HOSTILE.map((name) => [name, points])),
        warnings: value === undefined ? [expect.stringMatching(/^no_features: /)] : [],
      })
    }
  })

  // Text of a model or an applicant in the answer must stay text.
  test('names, versions and grades of any text arrive as they were deployed', async () => {
    const slug = await deploy(hostile)
    const body = expectSuccess(await post(`/v1/score/${slug}`, {}), ScoreResult)
    expect(body).toMatchObject({
      model_name: 'Card "quoted" \\ 🦄',
      model_version: '1.0-"β"\n',
      risk_grade: 'A"+\n🦄',
    })
  })

  test('unknown variables of any name, value and number are named in warnings, and nothing else happens', async () => {
    const slug = await deploy(card([plainFeature('income')]))
    // Objects list names that look like integers first, so these can't keep the order of the text.
    const names = HOSTILE.filter((name) => !/^\d+$/.test(name) || name === '01')
    const values: unknown[] = [1, 'x', null, true, [], {}, [[{ income: 1 }]], { toString: null }]
    const unknown = names.map((name, index) => [name, values[index % values.length]])
    const applicant = { ...Object.fromEntries(unknown), income: 1 }
    const single = expectSuccess(await post(`/v1/score/${slug}`, applicant), ScoreResult)
    const records = [applicant]
    const batch = expectSuccess(
      await post(`/v1/score/${slug}/batch`, { records }),
      ScoreBatchResult,
    )
    for (const { score, warnings } of [single, batch.results[0]]) {
      expect(score).toBe(102)
      expect(warnings).toEqual(
        names.map((variable) => ({
          type: 'unknown_variable',
          variable,
          message: expect.stringContaining(variable),
        })),
      )
    }
  })

  const grades = [
    { grade: 'C', min_score: null, max_score: -100 },
    { grade: 'B', min_score: 0, max_score: 200 },
    { grade: 'A', min_score: 200, max_score: 300 },
  ]
  // A grade invented for a score in a hole would be a decision that nobody made.
  test.each([
    [-100.5, 'C'],
    [-100, 'C'],
    [-99.5, null],
    [-0.5, null],
    [0, 'B'],
    [199.5, 'B'],
    [200, 'A'],
    [300, 'A'],
    [300.5, null],
  ])('the score %d has the grade %j', async (score, grade) => {
    const slug = await deploy(
      card([plainFeature('x')], { base_points: score - 1, risk_grades: grades }),
    )
    const body = expectSuccess(await post(`/v1/score/${slug}`, { x: 0 }), ScoreResult)
    expect(body).toMatchObject({ score, risk_grade: grade })
  })

  test.each([undefined, []])('without risk grades (%j) the grade is null', async (none) => {
    const rest = none === undefined ? {} : { risk_grades: none }
    const slug = await deploy(card([plainFeature('x')], rest))
    const body = expectSuccess(await post(`/v1/score/${slug}`, {}), ScoreResult)
    expect(body.risk_grade).toBe(null)
  })

  // NaN is no JSON, and a probability outside of 0 to 1 breaks whoever computes with it.
  test.each<[string, number, number, NaiveSpec['scaling']]>([
    ['very high', 1e300, 0, { base_score: 600, base_odds: 50, pdo: 20 }],
    ['very low', -1e300, 1, { base_score: 600, base_odds: 50, pdo: 20 }],
    ['very high where high is risky', 1e300, 1, { base_score: 600, base_odds: 50, pdo: -20 }],
    ['very low where high is risky', -1e300, 0, { base_score: 600, base_odds: 50, pdo: -20 }],
    ['a little high on the finest scale', 601, 0, { base_score: 600, base_odds: 1, pdo: 1e-300 }],
    ['a little low on the finest scale', 599, 1, { base_score: 600, base_odds: 1, pdo: 1e-300 }],
    ['at the base score', 600, 1 / 51, { base_score: 600, base_odds: 50, pdo: 20 }],
    ['one pdo above the base score', 620, 1 / 101, { base_score: 600, base_odds: 50, pdo: 20 }],
  ])('a score that is %s is answered with a probability', async (_, score, pd, scaling) => {
    const slug = await deploy(
      card([numeric('x', [['Missing', 0]])], { base_points: score, scaling }),
    )
    const body = expectSuccess(await post(`/v1/score/${slug}`, {}), ScoreResult)
    expect(body.score).toBe(score)
    expect(body.pd).toBeCloseTo(pd, 12)
  })

  // What is added up in another order, or rounded, can't be proved later to the bit.
  test('points are summed in the order of the spec in double precision, and not rounded', async () => {
    const points = [0.1, 0.2, 0.3, 1e16, -1e16, 0.7]
    const features = points.map((value, index) => numeric(`f${index}`, [['Missing', value]]))
    const slug = await deploy(card(features, { base_points: 0.1 }))
    const body = expectSuccess(await post(`/v1/score/${slug}`, { f5: null, f0: null }), ScoreResult)
    const sum = points.reduce((total, value) => total + value, 0.1)
    expect(body.score).toBe(sum)
    expect(sum).not.toBe(points.reduceRight((total, value) => total + value, 0.1))
  })
})
