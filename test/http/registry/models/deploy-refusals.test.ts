import { beforeAll, describe, expect, test } from 'vitest'
import { card, categorical, numeric, plainFeature } from '../../../support/cards/cards.ts'
import { findOutcome, formatRefusal } from '../../../support/expect/answers.ts'
import { backends } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'

const DEPLOY = '/v1/models/deploy'
const LEVELS = 100_000

const plain = card([plainFeature('income')])
const good = { spec: plain, environment: 'production', auto_deploy: true }
const withoutSpec = { environment: 'production', auto_deploy: true }

// A refused spec never gets to the database: one of them is enough.
describe.each(backends.slice(-1))('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  let owner: string

  beforeAll(async () => {
    owner = await service.signIn()
  })

  const deploy = (body: object | string) => service.call({ url: DEPLOY, token: owner, body })

  test.each([
    ['no environment', { spec: plain, auto_deploy: true }, 'environment'],
    ['no auto_deploy', { spec: plain, environment: 'production' }, 'auto_deploy'],
    ['another environment', { ...good, environment: 'test' }, 'environment'],
    ['an environment in upper case', { ...good, environment: 'Production' }, 'environment'],
    ['null for the environment', { ...good, environment: null }, 'environment'],
    ['a list of environments', { ...good, environment: ['production'] }, 'environment'],
    ['"true" for auto_deploy', { ...good, auto_deploy: 'true' }, 'auto_deploy'],
    ['1 for auto_deploy', { ...good, auto_deploy: 1 }, 'auto_deploy'],
    ['null for auto_deploy', { ...good, auto_deploy: null }, 'auto_deploy'],
    ['a number for the description', { ...good, description: 5 }, 'description'],
    ['a NUL in the description', { ...good, description: 'a\0b' }, 'description'],
    ['half a character in the description', { ...good, description: '\ud800' }, 'description'],
    ['a description too long', { ...good, description: 'x'.repeat(10_001) }, 'description'],
    ['an unknown field', { ...good, owner: 'me' }, 'owner'],
    ['a field spelt wrong', { ...good, Spec: plain }, 'Spec'],
  ])('a body with %s is 400 at that field', async (_, body, path) => {
    const refusal = formatRefusal(await deploy(body))
    expect(refusal).toMatchObject({ status: 400, error: 'invalid_request' })
    expect(refusal.details?.[0]?.path).toBe(path)
    expect(refusal.message).toContain(path)
  })

  // docs/decisions.md 2.3: the form of the body is checked before its meaning.
  test('a body that is wrong and has a faulty spec is 400, not 422', async () => {
    expect(findOutcome(await deploy({ ...withoutSpec, spec: {}, environment: 'x' }))).toBe(
      '400 invalid_request',
    )
    expect(findOutcome(await deploy({ spec: {} }))).toBe('400 invalid_request')
    expect(findOutcome(await deploy({ auto_deploy: true }))).toBe('400 invalid_request')
  })

  test.each([
    ['absent', withoutSpec, 'is missing'],
    ['null', { ...good, spec: null }, 'is null'],
    ['a list', { ...good, spec: [plain] }, 'is an array'],
    ['a text', { ...good, spec: JSON.stringify(plain) }, 'is a string'],
    ['a number', { ...good, spec: 0 }, 'is a number'],
    ['false', { ...good, spec: false }, 'is a boolean'],
  ])('a spec that is %s is 422 invalid_spec at spec', async (_, body, found) => {
    expect(formatRefusal(await deploy(body))).toEqual({
      status: 422,
      error: 'invalid_spec',
      message: expect.any(String),
      details: [{ path: 'spec', message: expect.stringContaining(found) }],
    })
  })

  // A modeler who learns of one fault for each upload gives up.
  test('all faults of a spec are reported at once, each with its path, in the order of the spec', async () => {
    const spec = {
      version: 1,
      spec_version: '2.0',
      target: ' ',
      base_points: '480',
      features: [
        numeric('age', [
          ['(-Infinity, 25]', 1],
          ['(24, Infinity)', 2],
          ['about thirty', 3],
        ]),
        categorical('purpose', [
          ['car%,%boat', 1],
          ['boat', 2],
          ['Missing', 3],
          ['Missing', 4],
        ]),
        { ...plainFeature('age'), woe_values: [0] },
        { name: 'strict_mode', type: 'ordinal', bins: [] },
        'income',
      ],
      scaling: { base_score: 600, base_odds: 0, pdo: 0 },
      risk_grades: [
        { grade: '', min_score: 10, max_score: 0 },
        { grade: 'A', min_score: null, max_score: 50 },
        { grade: 'B', min_score: 40 },
      ],
    }
    const refusal = formatRefusal(await deploy({ ...good, spec }))
    expect(refusal).toMatchObject({ status: 422, error: 'invalid_spec' })
    expect(refusal.details?.map(({ path }) => path)).toEqual([
      'name',
      'version',
      'target',
      'spec_version',
      'base_points',
      'features[0].bins[2].range',
      'features[0].bins[1].range',
      'features[1].bins[1].value',
      'features[1].bins[3].value',
      'features[2].name',
      'features[2].woe_values',
      'features[3].name',
      'features[3].type',
      'features[3].bins',
      'features[4]',
      'scaling.base_odds',
      'scaling.pdo',
      'risk_grades[0].grade',
      'risk_grades[0].min_score',
      'risk_grades[2].max_score',
    ])
    expect(refusal.message).toContain('20')
  })

  test.each([
    ['strict_mode', /special meaning in a request/],
    ['id', /special meaning in a request/],
    ['', /not be empty/],
  ])("a feature can't be named %j", async (name, message) => {
    const refusal = formatRefusal(await deploy({ ...good, spec: card([plainFeature(name)]) }))
    expect(refusal).toMatchObject({ status: 422, error: 'invalid_spec' })
    expect(refusal.details).toEqual([
      { path: 'features[0].name', message: expect.stringMatching(message) },
    ])
  })

  // Text columns can't hold these: they must not get as far as the database.
  test.each(['name', 'version', 'target'])(
    'NUL, half a character, nothing and 256 characters are no %s of a spec',
    async (field) => {
      for (const value of ['a\0b', 'a\ud800b', '', ' ', 'x'.repeat(256)]) {
        const refusal = formatRefusal(await deploy({ ...good, spec: { ...plain, [field]: value } }))
        expect(refusal).toMatchObject({ status: 422, details: [{ path: field }] })
      }
    },
  )

  // A number that JSON.parse reads as Infinity is none that a scorecard can add.
  test('a number beyond the range of a double is a fault with its path', async () => {
    const text = JSON.stringify(good)
    for (const [from, to, path] of [
      ['"points":2', '"points":1e400', 'features[0].bins[1].points'],
      ['"base_points":100', '"base_points":-1e400', 'base_points'],
      ['"pdo":20', '"pdo":1e400', 'scaling.pdo'],
    ] as const) {
      const body = text.replace(from, to)
      expect(body).not.toBe(text)
      expect(formatRefusal(await deploy(body))).toMatchObject({ status: 422, details: [{ path }] })
    }
  })

  // A stack that overflows is an answer of 500 at best, and the end of the process at worst.
  test.each([
    ['objects for a spec', '{"a":', '1', '}'],
    ['arrays for a spec', '[', '', ']'],
  ])('a hundred thousand levels of %s are refused', async (_, open, inner, close) => {
    const deep = open.repeat(LEVELS) + inner + close.repeat(LEVELS)
    const text = (spec: string) => `{"environment":"production","auto_deploy":true,"spec":${spec}}`
    const within = JSON.stringify({ ...plain, deep: 0 }).replace('"deep":0', `"deep":${deep}`)
    const features = JSON.stringify({ ...plain, features: 0 }).replace(
      '"features":0',
      `"features":${deep}`,
    )
    const described = `{"environment":"production","auto_deploy":true,"description":${deep}}`
    for (const body of [text(deep), text(within), text(features), described]) {
      const { status, error, message } = formatRefusal(await deploy(body))
      expect([status, error]).toEqual([400, 'invalid_request'])
      expect(message).toContain('nested deeper than 128 levels')
    }
  })

  test('a spec nested 101 levels deep is refused', async () => {
    const deep = JSON.parse(`${'{"a":'.repeat(100)}{}${'}'.repeat(100)}`)
    expect(formatRefusal(await deploy({ ...good, spec: { ...plain, deep } }))).toMatchObject({
      status: 422,
      details: [{ path: 'spec', message: expect.stringContaining('100') }],
    })
  })

  const bin = { range: '(0, 1]', points: 1 }
  const many = (count: number) => Array.from({ length: count }, (_, n) => n)
  test.each<[string, object, string]>([
    ['1,001 features', card(many(1001).map((n) => plainFeature(`f${n}`))), '422 invalid_spec'],
    [
      '1,001 bins',
      card([
        numeric(
          'a',
          many(1001).map((n) => [`(${n}, ${n + 1}]`, 1] as const),
        ),
      ]),
      '422 invalid_spec',
    ],
    [
      'a million bins in one feature',
      { ...plain, features: [{ bins: many(1e6) }] },
      '422 invalid_spec',
    ],
    ['a million features', { ...plain, features: many(1e6) }, '422 invalid_spec'],
    [
      'a million WoE values',
      card([{ ...plainFeature('a'), woe_values: many(1e6) }]),
      '422 invalid_spec',
    ],
    [
      '100,000 faults',
      card(
        many(1000).map((n) => ({
          name: `f${n}`,
          type: 'numeric',
          bins: Array(100).fill({ ...bin, points: null }),
        })),
      ),
      '422 invalid_spec',
    ],
    ['a name of 5 MB', { ...plain, name: 'x'.repeat(5e6) }, '422 invalid_spec'],
    ['a text of 17 MB', { ...plain, notes: 'x'.repeat(17e6) }, '413 payload_too_large'],
  ])('a huge spec with %s is refused', async (_, spec, outcome) => {
    const response = await deploy({ ...good, spec })
    expect(findOutcome(response)).toBe(outcome)
    // Ten thousand faults at the most, so that a huge spec has an answer of bounded size.
    expect(response.body.length).toBeLessThan(2_000_000)
  })
})
