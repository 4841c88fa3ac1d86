import { beforeAll, describe, expect, test } from 'vitest'
import { Deployment } from '../../../schemas/deployments.ts'
import { ScoreBatchResult, ScoreResult } from '../../../schemas/scoring.ts'
import { card, categorical, plainFeature } from '../../support/cards/cards.ts'
import { expectSuccess, findOutcome, formatRefusal } from '../../support/expect/answers.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'

const spec = card([plainFeature('income'), categorical('home', [['own', 5]]), plainFeature('age')])
const complete = { income: 1, home: 'own', age: 40 }

const missing = expect.stringContaining('missing')
const unknown = expect.stringContaining('not a feature')

/** Path and message of a detail, and its place in a batch. */
const at = (path: string, message: unknown, place: object = {}) => ({ path, message, ...place })

// What is tested here happens in memory: the databases differ in what other files test.
describe.each(backends.slice(-1))('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  let owner: string
  let slug: string
  let key: string

  beforeAll(async () => {
    owner = await service.signIn()
    slug = await service.deploy(owner, spec)
    key = await service.createKey(owner)
  })

  const post = (url: string, body: object | string) => service.call({ url, token: key, body })

  /** One applicant on both single routes, whose answers must agree but for the place of a fault. */
  async function singles(applicant: object, strictMode: unknown = true) {
    const body = { ...applicant, strict_mode: strictMode }
    const guide = { scorecard_id: slug, applicant, strict_mode: strictMode }
    return {
      '': await post(`/v1/score/${slug}`, body),
      'applicant.': await post('/api/v1/score', guide),
    }
  }

  async function batches(records: object[], strictMode: unknown = true) {
    const guide = { scorecard_id: slug, applicants: records, strict_mode: strictMode }
    return {
      records: await post(`/v1/score/${slug}/batch`, { records, strict_mode: strictMode }),
      applicants: await post('/api/v1/score/batch', guide),
    }
  }

  /** A refusal for these details; its message names the first for those who show no details. */
  function violation(details: ReturnType<typeof at>[]): object {
    const message = expect.stringContaining(details[0]?.path ?? '')
    return { status: 422, error: 'strict_mode_violation', message, details }
  }

  test.each<[string, object, (place: string) => ReturnType<typeof at>[]]>([
    ['a feature left out', { income: 1, age: 40 }, (of) => [at(`${of}home`, missing)]],
    ['a feature that is null', { ...complete, income: null }, (of) => [at(`${of}income`, missing)]],
    ['an unknown variable', { ...complete, pet: null }, (of) => [at(`${of}pet`, unknown)]],
    [
      'several of them',
      { zoo: 1, age: null, home: 'own', pet: [] },
      (of) => [
        at(`${of}income`, missing),
        at(`${of}age`, missing),
        at(`${of}zoo`, unknown),
        at(`${of}pet`, unknown),
      ],
    ],
    [
      'everything',
      {},
      (of) => [at(`${of}income`, missing), at(`${of}home`, missing), at(`${of}age`, missing)],
    ],
  ])('strict mode refuses %s, and lists each', async (_, applicant, details) => {
    for (const [place, response] of Object.entries(await singles(applicant))) {
      expect(formatRefusal(response)).toEqual(violation(details(place)))
    }
  })

  // Half a batch scored is a batch that someone sends again, and pays for twice.
  test('strict mode refuses a whole batch for one record, naming index and id of each', async () => {
    const records = [
      { id: 'first', ...complete },
      { id: 'second', income: 1, home: 'own', pet: 1 },
      { id: 3, ...complete, income: null },
      { ...complete, toString: 1 },
      { id: { nested: true }, ...complete, Age: 1 },
      { id: 'last', ...complete },
    ]
    for (const [name, response] of Object.entries(await batches(records))) {
      expect(formatRefusal(response)).toEqual(
        violation([
          at(`${name}[1].age`, missing, { index: 1, id: 'second' }),
          at(`${name}[1].pet`, unknown, { index: 1, id: 'second' }),
          at(`${name}[2].income`, missing, { index: 2, id: 3 }),
          at(`${name}[3].toString`, unknown, { index: 3, id: null }),
          at(`${name}[4].Age`, unknown, { index: 4, id: null }),
        ]),
      )
    }
  })

  // A value in no bin is a fact about the applicant, not a fault of the program that sends it.
  test('strict mode lets a value without a bin pass, with its warning', async () => {
    for (const response of Object.values(await singles({ ...complete, home: 'tent' }))) {
      expect(response.statusCode).toBe(200)
      expect(response.json()).toMatchObject({
        score: 104,
        warnings: [{ type: 'no_bin_match', variable: 'home', value: 'tent' }],
      })
    }
    for (const response of Object.values(await batches([{ ...complete, home: 'tent' }]))) {
      expect(response.json().results).toMatchObject([{ score: 104 }])
    }
  })

  test('strict mode scores complete applicants as the default does, their ids beside them', async () => {
    for (const strictMode of [true, false]) {
      for (const response of Object.values(await singles(complete, strictMode))) {
        expect(response.json()).toMatchObject({ score: 109, warnings: [] })
      }
      const records = [{ id: 1, ...complete }, complete]
      for (const response of Object.values(await batches(records, strictMode))) {
        expect(response.json().results).toMatchObject([
          { id: 1, score: 109, warnings: [] },
          { id: null, score: 109, warnings: [] },
        ])
      }
    }
  })

  test('without strict mode the same applicants are scored', async () => {
    const single = await post(`/v1/score/${slug}`, { pet: 1 })
    expect(expectSuccess(single, ScoreResult).score).toBe(106)
    const batch = await post(`/v1/score/${slug}/batch`, { records: [{ pet: 1 }] })
    expect(expectSuccess(batch, ScoreBatchResult).results[0].score).toBe(106)
  })

  // docs/decisions.md 2.3: what can't be read is told before what is not wanted.
  test('an impossible value of a category is 400 even where strict mode is violated, in any record', async () => {
    for (const response of Object.values(await singles({ home: true, pet: 1 }))) {
      expect(findOutcome(response)).toBe('400 invalid_request')
    }
    const records = [{ pet: 1 }, complete, { ...complete, home: [] }]
    for (const [name, response] of Object.entries(await batches(records))) {
      expect(formatRefusal(response)).toMatchObject({
        status: 400,
        error: 'invalid_request',
        details: [{ path: `${name}[2].home`, index: 2, id: null }],
      })
    }
  })

  // A number sent as text would be scored as one that meets no bin: another decision, in silence.
  test.each([
    ['a text', '40'],
    ['an empty text', ''],
    ['a boolean', true],
    ['an object', {}],
    ['an array', [40]],
  ])('%s where the feature is numeric is refused with its path', async (what, value) => {
    const applicant = { ...complete, age: value }
    const type = what.split(' ').at(-1)
    const message = expect.stringContaining(`takes no ${type}`)
    for (const [place, response] of Object.entries(await singles(applicant))) {
      expect(formatRefusal(response)).toMatchObject(violation([at(`${place}age`, message)]))
    }
    for (const [name, response] of Object.entries(await batches([complete, applicant]))) {
      const details = [at(`${name}[1].age`, message, { index: 1, id: null })]
      expect(formatRefusal(response)).toMatchObject(violation(details))
    }
  })

  test('without strict mode such a text matches no bin and warns, and a boolean is 400', async () => {
    for (const response of Object.values(await singles({ ...complete, age: '40' }, false))) {
      expect(findOutcome(response)).toBe('200')
      expect(response.json().warnings).toMatchObject([
        { type: 'no_bin_match', variable: 'age', value: '40' },
      ])
    }
    for (const response of Object.values(await singles({ ...complete, age: true }, false))) {
      expect(findOutcome(response)).toBe('400 invalid_request')
    }
  })

  // The lender sets it once; a caller that forgets to ask, or asks for less, changes nothing.
  test('a strict deployment refuses on all routes what strict mode refuses, asked or not', async () => {
    const setStrict = async (isStrict: boolean) => {
      const url = `/v1/deployments/${slug}`
      const body = { strict_mode: isStrict }
      expectSuccess(await service.call({ method: 'PATCH', url, token: owner, body }), Deployment)
    }
    const outcomes = async (applicant: object) => {
      const answers: string[] = []
      for (const strictMode of [false, true]) {
        const all = [
          ...Object.values(await singles(applicant, strictMode)),
          ...Object.values(await batches([complete, applicant], strictMode)),
        ]
        answers.push(...all.map(findOutcome))
      }
      answers.unshift(findOutcome(await post(`/v1/score/${slug}`, applicant)))
      return answers
    }
    const refused = '422 strict_mode_violation'
    const asked = [...Array(5).fill('200'), ...Array(4).fill(refused)]
    expect(await outcomes({ pet: 1 })).toEqual(asked)
    await setStrict(true)
    for (const applicant of [{}, { pet: 1 }, { ...complete, pet: 1 }, { ...complete, age: null }]) {
      expect(await outcomes(applicant)).toEqual(Array(9).fill(refused))
    }
    expect(await outcomes({ ...complete, home: 'tent' })).toEqual(Array(9).fill('200'))
    await setStrict(false)
    expect(await outcomes({ pet: 1 })).toEqual(asked)
  })

  test('an empty batch violates nothing', async () => {
    for (const response of Object.values(await batches([]))) {
      expect(response.json()).toMatchObject({ results: [], total: 0 })
    }
  })

  // "false" is true in JavaScript: a text that is believed would reject what it was to let pass.
  test.each([null, 'true', 'false', 0, 1, [], {}])(
    'strict_mode is a boolean: %j is 400',
    async (value) => {
      const answers = { ...(await singles(complete, value)), ...(await batches([complete], value)) }
      for (const response of Object.values(answers)) {
        expect(formatRefusal(response)).toMatchObject({
          status: 400,
          error: 'invalid_request',
          details: [{ path: 'strict_mode' }],
        })
      }
    },
  )

  // An answer with a million details would be a way to make the service work for nothing.
  test('of more than 10,000 violations the rest is only counted', async () => {
    const records = Array.from({ length: 1000 }, (_, id) => ({ id, a: 1, b: 1, c: 1, d: 1 }))
    const [response] = Object.values(await batches(records))
    if (response === undefined) throw new Error('no batch was sent')
    const { status, details } = formatRefusal(response)
    expect(status).toBe(422)
    expect(details).toHaveLength(7_000)
    const wide = records.map((record) => ({ ...record, e: 1, f: 1, g: 1, h: 1 }))
    const more = formatRefusal((await batches(wide)).records)
    expect(more.details).toHaveLength(10_001)
    expect(more.details?.at(-1)?.message).toContain('1000 more')
  })
})
