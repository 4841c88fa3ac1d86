import { beforeAll, describe, expect, test } from 'vitest'
import { ScoreBatchResult, ScorecardBatchResult } from '../../../schemas/scoring.ts'
import { card, numeric, plainFeature } from '../../support/cards/cards.ts'
import {
  expectSuccess,
  findOutcome,
  formatJson,
  formatRefusal,
} from '../../support/expect/answers.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'

const RECORDS_MAX = 1000

/** Each record gets its own number as points, so that results can't be mistaken for each other. */
const bins = Array.from({ length: 999 }, (_, n) => [`[${n}, ${n}]`, n] as const)
const spec = card([numeric('n', [...bins, ['Missing', -1]]), plainFeature('income')])

function records(count: number): object[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `r${index}`,
    n: index % 999,
    income: 1,
  }))
}

// What is tested here happens in memory: the databases differ in what other files test.
describe.each(backends.slice(-1))('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  let slug: string
  let key: string

  beforeAll(async () => {
    const owner = await service.signIn()
    slug = await service.deploy(owner, spec)
    key = await service.createKey(owner)
  })

  const post = (url: string, body: object | string) => service.call({ url, token: key, body })

  /** The same batch on both routes, with the schema of each. */
  async function both(list: unknown, rest: object = {}) {
    const guide = { scorecard_id: slug, applicants: list, ...rest }
    return [
      {
        response: await post(`/v1/score/${slug}/batch`, { records: list, ...rest }),
        schema: ScoreBatchResult,
      },
      { response: await post('/api/v1/score/batch', guide), schema: ScorecardBatchResult },
    ]
  }

  test.each([0, 1, 2, RECORDS_MAX])(
    'a batch of %d records is scored, its results in the order of its records',
    async (count) => {
      for (const { response, schema } of await both(records(count))) {
        const body = expectSuccess(response, schema)
        expect(body.total).toBe(count)
        expect(body.results).toEqual(
          Array.from({ length: count }, (_, index) => ({
            id: `r${index}`,
            score: 102 + (index % 999),
            risk_grade: null,
            pd: expect.any(Number),
            warnings: [],
          })),
        )
      }
    },
  )

  // The limit protects the service: whatever else a body holds, it must not be worked on.
  test('1,001 records are 413 before anything else of the body is looked at', async () => {
    const much = records(RECORDS_MAX + 1)
    const nonsense = Array(RECORDS_MAX + 1).fill(null)
    const refused = '413 batch_too_large'
    for (const list of [much, nonsense]) {
      for (const { response } of await both(list)) {
        expect(findOutcome(response)).toBe(refused)
        expect(formatRefusal(response).message).toContain('1000')
      }
      for (const { response } of await both(list, { strict_mode: 'yes', unheard_of: 1 })) {
        expect(findOutcome(response)).toBe(refused)
      }
      expect(findOutcome(await post('/v1/score/unknown/batch', { records: list }))).toBe(refused)
      const guide = { scorecard_id: 5, applicants: list }
      expect(findOutcome(await post('/api/v1/score/batch', guide))).toBe(refused)
      expect(findOutcome(await post('/api/v1/score/batch', { applicants: list }))).toBe(refused)
    }
  })

  // A stranger must not learn the limit, and their records are not counted.
  test('1,001 records of a caller without a key are 401', async () => {
    const body = { records: records(RECORDS_MAX + 1) }
    const response = await service.call({ url: `/v1/score/${slug}/batch`, body })
    expect(findOutcome(response)).toBe('401 invalid_api_key')
  })

  // A caller finds the ids of their list again, or nothing they could mistake for one.
  test.each<[string, string, unknown]>([
    ['a text', '"A-17"', 'A-17'],
    ['an empty text', '""', ''],
    ['a text that must be escaped', '"\\"\\\\\\n\\u0000\\u2028\\ud800🦄"', '"\\\n\0\u2028\ud800🦄'],
    ['a text that looks like a number', '"007"', '007'],
    ['a number', '17', 17],
    ['zero', '0', 0],
    ['a negative number', '-1.5', -1.5],
    ['the largest number that is exact', '9007199254740991', 9007199254740991],
    // A double has it as 9007199254740992: the id, and the reference, of somebody else.
    ['a number that a double rounds', '9007199254740993', null],
    ['a negative number that a double rounds', '-9007199254740993', null],
    ['a number beyond all doubles', '1e400', null],
    ['a small number', '1e-7', 1e-7],
    ['null', 'null', null],
    ['true', 'true', null],
    ['a list', '["A-17"]', null],
    ['an object', '{"id":"A-17"}', null],
  ])('an id that is %s is echoed, or null', async (_, text, echoed) => {
    const list = `[{"n":1,"id":${text}},{"n":2}]`
    const bodies = [
      [`/v1/score/${slug}/batch`, `{"records":${list}}`],
      ['/api/v1/score/batch', `{"scorecard_id":"${slug}","applicants":${list}}`],
    ] as const
    for (const [url, body] of bodies) {
      const { results } = formatJson(await post(url, body))
      expect(results.map(({ id }: { id: unknown }) => id)).toEqual([echoed, null])
      expect(results[0].warnings).not.toContainEqual(expect.objectContaining({ variable: 'id' }))
      // Such a score can't be found by its reference, and nobody would notice.
      const isIgnored = echoed === null && text !== 'null'
      const ignored = 'ignored_id: the id of a record must be a text, or a number up to 2^53 - 1'
      expect(results[0].warnings.indexOf(ignored)).toBe(isIgnored ? 0 : -1)
      expect(results[1].warnings).not.toContain(ignored)
    }
  })

  // Two records with one id are the client's own affair; dropping one would lose an applicant.
  test('records that share an id, or are the same, are all scored', async () => {
    const same = { id: 'twin', n: 5 }
    for (const { response, schema } of await both([same, same, { id: 'twin', n: 6 }])) {
      const { results } = expectSuccess(response, schema)
      expect(results.map(({ score }: { score: number }) => score)).toEqual([108, 108, 109])
    }
  })

  test('contributions are in a batch only when asked for, then for every feature', async () => {
    const list = [{ n: 3 }, { n: 'x', extra: 1 }]
    for (const { response, schema } of await both(list, { include_contributions: true })) {
      const { results } = expectSuccess(response, schema)
      expect(results.map(({ contributions }: { contributions: object }) => contributions)).toEqual([
        { n: 3, income: 3 },
        { n: 0, income: 3 },
      ])
    }
    for (const rest of [{}, { include_contributions: false }]) {
      for (const { response, schema } of await both(list, rest)) {
        for (const result of expectSuccess(response, schema).results) {
          expect(result).not.toHaveProperty('contributions')
        }
      }
    }
  })

  // A batch must be a convenience, never another decision.
  test('a record scores in a batch as it does alone', async () => {
    const list = [{ n: 998, income: -1 }, {}, { n: null, income: 'x' }, { n: 1.5, extra: true }]
    const [first] = await both(list, { include_contributions: true })
    const { results } = expectSuccess(first?.response ?? expect.fail(), ScoreBatchResult)
    for (const [index, applicant] of list.entries()) {
      const single = formatJson(await post(`/v1/score/${slug}`, applicant))
      const { score, pd, risk_grade, contributions } = single
      expect(results[index]).toMatchObject({ score, pd, risk_grade, contributions })
    }
  })

  test.each([
    ['no records', {}, 'records'],
    ['null for records', { records: null }, 'records'],
    ['an object for records', { records: { 0: {} } }, 'records'],
    ['an object with a length', { records: { length: 1001 } }, 'records'],
    ['a text for records', { records: 'x'.repeat(1001) }, 'records'],
    ['null among the records', { records: [{}, null] }, 'records[1]'],
    ['a list among the records', { records: [[]] }, 'records[0]'],
    ['a number among the records', { records: [{}, {}, 7] }, 'records[2]'],
    [
      'null for include_contributions',
      { records: [], include_contributions: null },
      'include_contributions',
    ],
    [
      '1 for include_contributions',
      { records: [], include_contributions: 1 },
      'include_contributions',
    ],
  ])('a body with %s is 400 at that place', async (_, body, path) => {
    const refusal = formatRefusal(await post(`/v1/score/${slug}/batch`, body))
    expect(refusal).toMatchObject({ status: 400, error: 'invalid_request', details: [{ path }] })
    const { records: applicants, ...rest } = { records: undefined, ...body }
    const guide = { scorecard_id: slug, ...('records' in body && { applicants }), ...rest }
    const twin = formatRefusal(await post('/api/v1/score/batch', guide))
    expect(twin.details?.[0]?.path).toBe(path.replace('records', 'applicants'))
  })

  test.each([
    ['no scorecard_id', { applicants: [] }, 'scorecard_id'],
    ['a number for scorecard_id', { scorecard_id: 5, applicants: [] }, 'scorecard_id'],
    ['null for scorecard_id', { scorecard_id: null, applicants: [] }, 'scorecard_id'],
  ])('an /api/v1 body with %s is 400 at that field', async (_, body, path) => {
    const refusal = formatRefusal(await post('/api/v1/score/batch', body))
    expect(refusal).toMatchObject({ status: 400, details: [{ path }] })
    const single = { ...body, applicants: undefined, applicant: {} }
    const twin = formatRefusal(await post('/api/v1/score', single))
    expect(twin).toMatchObject({ status: 400, details: [{ path }] })
  })

  test.each([undefined, null, [], [{}], 'x', 5])(
    'an applicant is an object: %j is 400',
    async (applicant) => {
      const refusal = formatRefusal(await post('/api/v1/score', { scorecard_id: slug, applicant }))
      expect(refusal).toMatchObject({ status: 400, details: [{ path: 'applicant' }] })
    },
  )
})
