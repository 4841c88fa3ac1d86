import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { DeployResult } from '../../../../schemas/models.ts'
import { ScoreResult } from '../../../../schemas/scoring.ts'
import { buildApp } from '../../../../src/app.ts'
import { loadConfig } from '../../../../src/config.ts'
import { card, categorical, numeric, plainFeature } from '../../../support/cards/cards.ts'
import { expectSuccess, findOutcome } from '../../../support/expect/answers.ts'
import type { NaiveSpec } from '../../../support/naive/naive-evaluator.ts'
import { backends } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'

const DEPLOY = '/v1/models/deploy'
const MODEL_ID = /^mod_[0-9A-Za-z]{20,}$/
const DEPLOYMENT_ID = /^dep_[0-9A-Za-z]{20,}$/
const NO_MISSING = 'have no Missing bin: a missing value adds 0 points'

const plain = card([plainFeature('income')])

function order(spec: unknown, rest: object = {}): object {
  return { spec, environment: 'production', auto_deploy: true, ...rest }
}

describe.each(backends)('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  let owner: string

  beforeAll(async () => {
    owner = await service.signIn()
  })

  async function deploy(body: object, headers: Record<string, string> = {}) {
    return expectSuccess(
      await service.call({ url: DEPLOY, token: owner, body, headers }),
      DeployResult,
    )
  }

  // The desktop application shows these fields and stores the slug and the URL.
  test('auto_deploy answers the model and an active deployment whose slug is its id', async () => {
    const body = await deploy(order({ ...plain, name: 'Consumer loans', version: '2024-06' }))
    const { id } = body.deployment
    expect(body).toEqual({
      model_id: expect.stringMatching(MODEL_ID),
      name: 'Consumer loans',
      version: '2024-06',
      spec_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      deployment: {
        id: expect.stringMatching(DEPLOYMENT_ID),
        slug: id,
        endpoint: expect.stringMatching(new RegExp(`^http://[^/]+/v1/score/${id}$`)),
        status: 'active',
      },
    })
  })

  test('without auto_deploy the model is registered and the deployment is null', async () => {
    expect(await deploy(order(plain, { auto_deploy: false }))).toEqual({
      model_id: expect.stringMatching(MODEL_ID),
      name: plain.name,
      version: plain.version,
      spec_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      deployment: null,
    })
  })

  // The answer must be usable as it stands: people paste the endpoint into their programs.
  test('the endpoint of the answer scores at once', async () => {
    const key = await service.createKey(owner)
    const headers = { host: 'scores.lender.example:8443' }
    const { deployment } = await deploy(order(plain), headers)
    expect(deployment.endpoint).toBe(
      `http://scores.lender.example:8443/v1/score/${deployment.slug}`,
    )
    const path = deployment.endpoint.replace(/^http:..[^/]+/, '')
    const scored = await service.call({ url: path, token: key, body: { income: 1 } })
    expect(expectSuccess(scored, ScoreResult).score).toBe(102)
  })

  // Believing these headers from anyone would let a caller choose the URL that a colleague pastes.
  test('the endpoint ignores forwarding headers of a caller that is not a known proxy', async () => {
    const headers = {
      host: 'scores.lender.example',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
      forwarded: 'host=evil.example;proto=https',
    }
    const { deployment } = await deploy(order(plain), headers)
    expect(deployment.endpoint).toMatch(/^http:\/\/scores\.lender\.example\/v1\/score\//)
  })

  // A deployment is a decision of its own; a retry must not change the one that is in use.
  test('deploying the same spec twice makes two models and two deployments', async () => {
    const [one, other] = [await deploy(order(plain)), await deploy(order(plain))]
    expect(other.model_id).not.toBe(one.model_id)
    expect(other.deployment.id).not.toBe(one.deployment.id)
    const key = await service.createKey(owner)
    for (const { slug } of [one.deployment, other.deployment]) {
      const url = `/v1/score/${slug}`
      expect(findOutcome(await service.call({ url, token: key, body: {} }))).toBe('200')
    }
  })

  test.each([
    ['left out', {}],
    ['null', { description: null }],
    ['empty', { description: '' }],
    ['of any writing', { description: 'Ünïcode 🦄\n"quoted" \\ back' }],
    ['10,000 characters long', { description: '🦄'.repeat(10_000) }],
  ])('a description may be %s', async (_, rest) => {
    await deploy(order(plain, rest))
  })

  test.each(['production', 'staging'])('a model can be for %s', async (environment) => {
    await deploy(order(plain, { environment }))
  })

  // Modeling tools write more than a score needs; refusing it would refuse their files.
  test('properties that the service does not know are accepted everywhere in the spec', async () => {
    const spec = structuredClone(plain)
    const notes = { nested: [{ list: [1, null, 'x'] }], toString: 1, constructor: null, '': 0 }
    Object.assign(spec, { notes, '\0\ud800': '\0\ud800', features_count: 1e300 })
    Object.assign(spec.scaling, notes)
    for (const feature of spec.features) Object.assign(feature, notes, { label: 'Income' })
    for (const bin of spec.features[0]?.bins ?? []) Object.assign(bin, notes, { count: 17 })
    expect(await deploy(order(spec))).not.toHaveProperty('spec_warnings')
  })

  // 100 levels are far more than any tool writes, and safe to walk through.
  test('a spec nested 100 levels deep is accepted', async () => {
    const deep = JSON.parse(`${'{"a":'.repeat(99)}{}${'}'.repeat(99)}`)
    await deploy(order({ ...plain, deep }))
  })

  test('a spec of 1,000 features with 20,000 bins together is accepted and scores', async () => {
    const bins = Array.from({ length: 19 }, (_, n) => [`(${n}, ${n + 1}]`, n] as const)
    const features = Array.from({ length: 1000 }, (_, n) =>
      numeric(`feature ${n}`, [...bins, ['Missing', 1]]),
    )
    const { deployment } = await deploy(order(card(features)))
    const key = await service.createKey(owner)
    const url = `/v1/score/${deployment.slug}`
    const response = await service.call({ url, token: key, body: { 'feature 999': 11 } })
    expect(expectSuccess(response, ScoreResult).score).toBe(100 + 999 + 10)
  })

  // What is legal but odd is mostly a mistake of the author, who should hear of it at once.
  const hole: NaiveSpec = card([
    numeric('income', [
      ['(-Infinity, 0]', 1],
      ['(1, 2)', 2],
      ['[2, Infinity)', 3],
      ['Missing', 0],
    ]),
  ])
  const outer: NaiveSpec = card([
    numeric('income', [
      ['[0, 1)', 1],
      ['[1, 2]', 2],
      ['Missing', 0],
    ]),
  ])
  const noMissing: NaiveSpec = card([
    plainFeature('income'),
    numeric('age', [['(-Infinity, Infinity)', 1]]),
    categorical('purpose', [['car%,%boat', 1]]),
  ])
  const grades = [
    { grade: 'B', min_score: null, max_score: 99.99 },
    { grade: 'A', min_score: 100, max_score: 200 },
  ]
  test.each<[string, NaiveSpec, Array<[path: string, message: RegExp]>]>([
    [
      'a hole between bins',
      hole,
      [['features[0].bins', /^numbers between bins\[0\] and bins\[1\]/]],
    ],
    [
      'outer holes',
      outer,
      [
        ['features[0].bins', /^numbers below bins\[0\]/],
        ['features[0].bins', /^numbers above bins\[1\]/],
      ],
    ],
    [
      'a hole between grades and one above them',
      { ...plain, risk_grades: grades },
      [
        ['risk_grades[1]', /between 99.99 and 100 have no grade/],
        ['risk_grades[1]', /above 200 have no grade/],
      ],
    ],
    [
      'features without a Missing bin',
      noMissing,
      [
        ['features[1].bins', new RegExp(NO_MISSING)],
        ['features[2].bins', new RegExp(NO_MISSING)],
      ],
    ],
  ])('spec_warnings name %s', async (_, spec, warnings) => {
    const { spec_warnings: given } = await deploy(order(spec))
    expect(given).toEqual(
      warnings.map(([path, message]) => ({ path, message: expect.stringMatching(message) })),
    )
  })

  test('a model that is only registered has spec_warnings, too', async () => {
    const { spec_warnings: given } = await deploy(order(hole, { auto_deploy: false }))
    expect(given).toHaveLength(1)
  })

  // An empty list would make callers ask what it is for; its absence is the documented form.
  test('spec_warnings are absent when there are none', async () => {
    const closed = {
      ...plain,
      risk_grades: [
        { grade: 'A', min_score: 101, max_score: null },
        { grade: 'B', min_score: null, max_score: 101 },
      ],
    }
    expect(await deploy(order(closed))).not.toHaveProperty('spec_warnings')
  })

  /** The endpoint in the answer of a service on the same database that was configured otherwise. */
  async function endpointWith(env: Record<string, string>, headers: Record<string, string>) {
    const config = loadConfig({ LOG_LEVEL: 'silent', ...env })
    const app = await buildApp(service.services, config)
    onTestFinished(() => app.close())
    const authorization = `Bearer ${owner}`
    const payload = order(plain)
    const all = { authorization, ...headers }
    const response = await app.inject({ method: 'POST', url: DEPLOY, headers: all, payload })
    return expectSuccess(response, DeployResult).deployment.endpoint
  }

  // Behind a gateway that rewrites the host, only the operator knows the service's address.
  test('the endpoint starts with PUBLIC_URL if that is set, whatever the request says', async () => {
    const env = { PUBLIC_URL: 'https://api.lender.example/scoring/' }
    expect(await endpointWith(env, { host: 'internal:3000' })).toMatch(
      /^https:\/\/api\.lender\.example\/scoring\/v1\/score\/dep_[0-9A-Za-z]+$/,
    )
  })

  test('the endpoint follows the forwarding headers of a proxy that TRUST_PROXY names', async () => {
    const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'api.lender.example' }
    expect(await endpointWith({ TRUST_PROXY: '127.0.0.0/8' }, headers)).toMatch(
      /^https:\/\/api\.lender\.example\/v1\/score\/dep_/,
    )
  })
})
