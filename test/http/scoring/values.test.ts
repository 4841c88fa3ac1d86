import { beforeAll, describe, expect, test } from 'vitest'
import {
  ScoreBatchResult,
  ScorecardBatchResult,
  ScorecardScoreResult,
  ScoreResult,
} from '../../../schemas/scoring.ts'
import { card, categorical, numeric } from '../../support/cards/cards.ts'
import { expectSuccess, formatRefusal } from '../../support/expect/answers.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'

/** Points tell the bins apart: numbers have a hole above 10, codes a bin for each kind of text. */
const spec = card([
  numeric('income', [
    ['(-Infinity, 0]', 1],
    ['(0, 10]', 2],
    ['(20, Infinity)', 4],
    ['Missing', 8],
  ]),
  categorical('code', [
    ['3%,%0', 16],
    ['3.0%,%1e21', 32],
    ['1e+21%,%0.1%,%1e-7', 64],
    ['Missing', 128],
  ]),
  categorical('home', [
    ['own%,%rent, furnished', 256],
    ['', 512],
  ]),
  numeric('age', [['[18, 100)', 1024]]),
])
const NO_FEATURES = "no_features: the request names none of the model's features"
const complete = { income: 1, code: '3', home: 'own', age: 40 }

function noBinMatch(variable: string, value: string | number) {
  return { type: 'no_bin_match', variable, value, message: expect.stringContaining(variable) }
}

function unknownVariable(variable: string) {
  return { type: 'unknown_variable', variable, message: expect.stringContaining(variable) }
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
  const postSingle = (body: object | string) => post(`/v1/score/${slug}`, body)
  const postBatch = (body: object | string) => post(`/v1/score/${slug}/batch`, body)

  /** Points of a feature and warnings about an applicant, who is otherwise complete. */
  async function outcomeFor(feature: keyof typeof complete, valueText: string) {
    const { [feature]: _, ...others } = complete
    const body = `{${JSON.stringify(feature)}:${valueText},${JSON.stringify(others).slice(1)}`
    const { contributions, warnings } = expectSuccess(await postSingle(body), ScoreResult)
    return [contributions[feature], warnings]
  }

  // The table of matching: the value as it stands in the request, the points that it gets.
  test.each<[keyof typeof complete, value: string, points: number, isMatch?: boolean]>([
    ['income', '0', 1],
    ['income', '-0', 1],
    ['income', '5e-324', 2],
    ['income', '10', 2],
    ['income', '10.0000000000000001', 2],
    ['income', '10.000000000000002', 0, false],
    ['income', '20', 0, false],
    ['income', '20.000000000000004', 4],
    ['income', '1e308', 4],
    ['income', '"5"', 0, false],
    ['income', '""', 0, false],
    ['income', '"Missing"', 0, false],
    ['income', '"(0, 10]"', 0, false],
    ['income', 'null', 8],
    ['code', '"3"', 16],
    ['code', '3', 16],
    ['code', '3.0', 16],
    ['code', '3.00e0', 16],
    ['code', '-0', 16],
    ['code', '"3.0"', 32],
    ['code', '"1e21"', 32],
    ['code', '1e21', 64],
    ['code', '1000000000000000000000', 64],
    ['code', '0.1', 64],
    ['code', '0.10', 64],
    ['code', '0.0000001', 64],
    ['code', '"0.10"', 128, false],
    ['code', '4', 128, false],
    ['code', '" 3"', 128, false],
    ['code', '"3%,%0"', 128, false],
    ['code', '"Missing"', 128],
    ['code', '"missing"', 128, false],
    ['code', 'null', 128],
    ['home', '"own"', 256],
    ['home', '"Own"', 0, false],
    ['home', '"own "', 0, false],
    ['home', '"rent, furnished"', 256],
    ['home', '"rent"', 0, false],
    ['home', '"own%,%rent, furnished"', 0, false],
    ['home', '""', 512],
    ['home', '"toString"', 0, false],
    ['home', '"__proto__"', 0, false],
    ['home', 'null', 0],
    ['age', '18', 1024],
    ['age', '17.999999999999996', 0, false],
    ['age', '99.99999999999999', 1024],
    ['age', '100', 0, false],
    ['age', 'null', 0],
  ])('%s = %s gets %d points', async (feature, value, points, isMatch = true) => {
    const warnings = isMatch ? [] : [noBinMatch(feature, JSON.parse(value))]
    expect(await outcomeFor(feature, value)).toEqual([points, warnings])
  })

  // Programs leave a field out or send null, as their language has it; both mean the same.
  test.each(Object.keys(complete))('%s left out scores as null does', async (feature) => {
    const absent = Object.entries(complete).filter(([name]) => name !== feature)
    const [one, other] = [
      expectSuccess(await postSingle(Object.fromEntries(absent)), ScoreResult),
      expectSuccess(await postSingle({ ...complete, [feature]: null }), ScoreResult),
    ]
    expect(one.contributions).toEqual(other.contributions)
    expect([one.score, one.warnings]).toEqual([other.score, []])
  })

  test('a name in another case or with white space is an unknown variable', async () => {
    const body = expectSuccess(
      await postSingle({ ...complete, Income: 1, 'income ': 1 }),
      ScoreResult,
    )
    expect(body.warnings).toEqual([unknownVariable('Income'), unknownVariable('income ')])
  })

  // A value of an impossible type is a mistake of the program that sends it; scored as missing, it
  // would decline people without anyone noticing.
  const IMPOSSIBLE: Array<[string, RegExp]> = [
    ['true', /a boolean/],
    ['false', /a boolean/],
    ['[]', /an array/],
    ['[5]', /an array/],
    ['{}', /an object/],
    ['{"value":5}', /an object/],
    ['1e400', /range of a double/],
    ['-1e400', /range of a double/],
  ]
  test.each(IMPOSSIBLE)(
    '%s for a feature is 400 naming it, on every route',
    async (value, found) => {
      const detail = (path: string, rest: object = {}) => ({
        status: 400,
        error: 'invalid_request',
        message: expect.stringContaining(path),
        details: [{ path, message: expect.stringMatching(found), ...rest }],
      })
      for (const feature of Object.keys(complete)) {
        const applicant = `{"id":7,"unheard of":${value},"${feature}":${value}}`
        const list = `[{},${applicant},{"id":"x"}]`
        const at = { index: 1, id: 7 }
        expect(formatRefusal(await postSingle(applicant))).toEqual(detail(feature))
        expect(formatRefusal(await postBatch(`{"records":${list}}`))).toEqual(
          detail(`records[1].${feature}`, at),
        )
        const one = `{"scorecard_id":"${slug}","applicant":${applicant}}`
        expect(formatRefusal(await post('/api/v1/score', one))).toEqual(
          detail(`applicant.${feature}`),
        )
        const many = `{"scorecard_id":"${slug}","applicants":${list}}`
        expect(formatRefusal(await post('/api/v1/score/batch', many))).toEqual(
          detail(`applicants[1].${feature}`, at),
        )
      }
    },
  )

  test('all impossible values are reported at once, in the order of records and of the spec', async () => {
    const records = [{ id: 'a', age: true, income: [] }, {}, { home: {}, extra: {} }]
    const refusal = formatRefusal(await postBatch({ records }))
    expect(refusal.details).toEqual([
      { path: 'records[0].income', message: expect.any(String), index: 0, id: 'a' },
      { path: 'records[0].age', message: expect.any(String), index: 0, id: 'a' },
      { path: 'records[2].home', message: expect.any(String), index: 2, id: null },
    ])
  })

  test.each(['true', '[]', '{"a":[{}]}', '1e400', 'null', '"x"', '-5'])(
    'an unknown variable only warns, whatever it holds: %s',
    async (value) => {
      const body = `{"extra":${value},${JSON.stringify(complete).slice(1)}`
      const { warnings, contributions } = expectSuccess(await postSingle(body), ScoreResult)
      expect(warnings).toEqual([unknownVariable('extra')])
      expect(Object.keys(contributions)).toEqual(spec.features.map(({ name }) => name))
    },
  )

  const odd = { zebra: 1, age: 5, home: 'tent', apple: 2, income: 15, code: 'x' }
  const oddWarnings = [
    noBinMatch('income', 15),
    noBinMatch('code', 'x'),
    noBinMatch('home', 'tent'),
    noBinMatch('age', 5),
    unknownVariable('zebra'),
    unknownVariable('apple'),
  ]
  // Programs show the first warning; its place must not depend on how the request was put together.
  test('warnings come in the order of the spec, then unknown variables in that of the request', async () => {
    expect(expectSuccess(await postSingle(odd), ScoreResult).warnings).toEqual(oddWarnings)
    const reversed = Object.fromEntries(Object.entries(odd).toReversed())
    const { warnings } = expectSuccess(await postSingle(reversed), ScoreResult)
    expect(warnings).toEqual([
      ...oddWarnings.slice(0, 4),
      unknownVariable('apple'),
      unknownVariable('zebra'),
    ])
  })

  // In the single form, callers know what they did not send.
  test('a single result tells of no missing feature, even beside other warnings', async () => {
    const body = expectSuccess(await postSingle({ extra: 1, home: null, code: 'x' }), ScoreResult)
    expect(body.warnings).toEqual([noBinMatch('code', 'x'), unknownVariable('extra')])
  })

  // In a batch nobody looks at single answers, so what was missing must be countable afterwards.
  test('a batch also tells of missing features, as texts in their place in the spec', async () => {
    const records = [odd, { extra: 1, home: null, code: 'x' }, complete, {}]
    const { results } = expectSuccess(await postBatch({ records }), ScoreBatchResult)
    expect(results.map(({ warnings }: { warnings: unknown }) => warnings)).toEqual([
      oddWarnings,
      [
        'missing_feature: income',
        noBinMatch('code', 'x'),
        'missing_feature: home',
        'missing_feature: age',
        unknownVariable('extra'),
      ],
      [],
      [NO_FEATURES, ...spec.features.map(({ name }) => `missing_feature: ${name}`)],
    ])
  })

  // A generated client that drops unknown properties sends `{}` for everyone, and all get one
  // score.
  test.each<[string, object, boolean]>([
    ['nothing', {}, true],
    ['only unknown variables', { Income: 1, extra: 'x' }, true],
    ['a feature that is null', { income: null }, false],
    [
      'a feature whose value matches no bin, behind an unknown variable',
      { x: 1, home: '-' },
      false,
    ],
  ])(
    'an applicant with %s is warned about naming no feature: %#',
    async (_, applicant, isWarned) => {
      const missing = spec.features.filter(({ name }) => !Object.hasOwn(applicant, name))
      const isMissing = (name: string) =>
        missing.some((feature) => feature.name === name) ||
        (applicant as Record<string, unknown>)[name] === null
      const lists = await Promise.all([
        postSingle(applicant).then((response) => expectSuccess(response, ScoreResult).warnings),
        post('/api/v1/score', { scorecard_id: slug, applicant }).then(
          (response) => expectSuccess(response, ScorecardScoreResult).warnings,
        ),
        postBatch({ records: [complete, { id: 'a', ...applicant }] }).then(
          (response) => expectSuccess(response, ScoreBatchResult).results[1].warnings,
        ),
        post('/api/v1/score/batch', { scorecard_id: slug, applicants: [applicant] }).then(
          (response) => expectSuccess(response, ScorecardBatchResult).results[0].warnings,
        ),
      ])
      for (const [position, warnings] of lists.entries()) {
        const listed = position < 2 ? [] : spec.features.filter(({ name }) => isMissing(name))
        expect(warnings.slice(0, 1).includes(NO_FEATURES)).toBe(isWarned)
        expect(warnings.filter((warning: unknown) => typeof warning === 'string')).toEqual([
          ...(isWarned ? [NO_FEATURES] : []),
          ...listed.map(({ name }) => `missing_feature: ${name}`),
        ])
      }
    },
  )

  test('what stands beside the features in one form of body is a variable in the others', async () => {
    const reserved = { ...complete, id: 1, strict_mode: false }
    const single = expectSuccess(await postSingle(reserved), ScoreResult)
    expect(single.warnings).toEqual([unknownVariable('id')])
    const batch = expectSuccess(await postBatch({ records: [reserved] }), ScoreBatchResult)
    expect(batch.results[0].warnings).toEqual([unknownVariable('strict_mode')])
    const guide = await post('/api/v1/score', { scorecard_id: slug, applicant: reserved })
    expect(expectSuccess(guide, ScorecardScoreResult).warnings).toEqual([
      unknownVariable('id'),
      unknownVariable('strict_mode'),
    ])
  })

  // RFC 8259 leaves it open which one counts; a program must be able to rely on one of them.
  test('of a feature that stands twice in the body, the last value counts', async () => {
    const body = expectSuccess(await postSingle('{"income":5,"income":25}'), ScoreResult)
    expect(body.contributions.income).toBe(4)
  })
})
