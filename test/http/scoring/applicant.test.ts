import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { card, categorical, numeric, plainFeature, sampleSpec } from '../../support/cards/cards.ts'
import { dmgCard } from '../../support/cards/reason-cards.ts'
import { findOutcome, formatRefusal } from '../../support/expect/answers.ts'
import { evaluateNaively } from '../../support/naive/naive-evaluator.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'
import { Team } from '../../support/start/team.ts'

const champion = card(
  [
    numeric('income', [
      ['[0.25, 0.5)', 4],
      ['[1000, 2000)', 7],
    ]),
    categorical('home', [
      ['own%,%rent', 5],
      ['Missing', 1],
    ]),
  ],
  { version: '1.0' },
)
const challenger = card(
  [...champion.features, plainFeature('age'), categorical('code', [['7', 3]])],
  {
    version: '2.0',
  },
)

describe.each(backends)('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  const team = Team.forSuite(service)

  const ask = (slug: string, headers: Record<string, string> = {}, token = team.key) =>
    service.call({ method: 'GET', url: `/v1/score/${slug}/schema`, token, headers })

  async function makeSchema(slug: string) {
    const response = await ask(slug)
    expect(response.statusCode, response.body).toBe(200)
    expect(response.headers['content-type']).toMatch(/^application\/schema\+json/)
    return response.json()
  }

  // A client that knows what is wanted sends neither too much nor too little.
  test('the schema names the features of all active models, and asks for those of who may answer', async () => {
    const { slug } = await team.deploy(champion)
    expect((await makeSchema(slug)).required).toEqual(['income', 'home'])
    await team.shadow(slug, true)
    await team.challenge(slug, challenger, 10)
    const shadow = await makeSchema(slug)
    expect(shadow).toMatchObject({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      required: ['income', 'home'],
    })
    expect(Object.keys(shadow.properties)).toEqual([
      ...['income', 'home', 'age', 'code', 'strict_mode'],
    ])
    // As the card writes them, although 0.5 and 2000 are open.
    expect(shadow.properties.income.examples).toEqual([0.25, 0.5, 1000, 2000])
    expect(shadow.properties.home).toEqual({
      type: ['string', 'number', 'null'],
      examples: ['own', 'rent'],
    })
    expect(shadow.properties.income.type).toEqual(['number', 'null'])
    expect(JSON.stringify(shadow)).not.toContain('"enum"')
    await team.shadow(slug, false)
    expect((await makeSchema(slug)).required).toEqual(['income', 'home', 'age', 'code'])
  })

  // The double beside a bound can be the shorter text.
  test('bounds have all bits of the card, however their ranges are closed', async () => {
    const spec = card([
      numeric('income', [
        ['(-Infinity, 1077.0449829101562)', 1],
        ['[1077.0449829101562, 3154.594970703125]', 2],
        ['( 3154.594970703125 , 1e+21]', 3],
      ]),
      categorical('home', [['own', 1]]),
    ])
    Object.assign(spec.features[1]?.bins[0] ?? {}, { range: 5 })
    const { slug } = await team.deploy(spec)
    const { properties } = await makeSchema(slug)
    expect(properties.income.examples).toEqual([1077.0449829101562, 3154.594970703125, 1e21])
    expect(properties.home.examples).toEqual(['own'])
  })

  test('its example fits it and scores without a warning, strict and not', async () => {
    for (const spec of [champion, challenger, sampleSpec(), dmgCard()]) {
      const { slug } = await team.deploy(spec)
      for (const strict_mode of [false, true]) {
        await team.done('PATCH', `/v1/deployments/${slug}`, { strict_mode })
        const schema = await makeSchema(slug)
        const [example] = schema.examples
        const fits = new Ajv2020({ strict: false }).compile(schema)
        expect(fits(example), JSON.stringify(fits.errors)).toBe(true)
        expect(schema.additionalProperties).toBe(strict_mode ? false : undefined)
        const { warnings } = await team.score(slug, example)
        expect(warnings).toEqual([])
      }
    }
  })

  test('labels are descriptions', async () => {
    const [income, home] = champion.features
    const label = { de: 'Einkommen', en: 'Income' }
    const { slug } = await team.deploy({ ...champion, features: [{ ...income, label }, home] })
    expect((await makeSchema(slug)).properties.income.description).toBe('Income')
  })

  test('its tag changes with the deployment, and saves the answer until then', async () => {
    const { slug } = await team.deploy(champion)
    const etag = String((await ask(slug)).headers.etag)
    expect(etag).toBe('"1"')
    const known = await ask(slug, { 'if-none-match': etag })
    expect([known.statusCode, known.body]).toEqual([304, ''])
    await team.challenge(slug, challenger, 10)
    const next = await ask(slug, { 'if-none-match': etag })
    expect([next.statusCode, next.headers.etag]).toEqual([200, '"2"'])
  })

  test('an unknown or inactive deployment has no schema and takes no trial', async () => {
    const { slug } = await team.deploy(champion)
    await team.done('PATCH', `/v1/deployments/${slug}`, { is_active: false })
    for (const absent of [slug, 'dep_none']) {
      expect(findOutcome(await ask(absent))).toBe('404 deployment_not_found')
      const trial = await team.call('POST', `/v1/deployments/${absent}/trial`, {})
      expect(findOutcome(trial)).toBe('404 deployment_not_found')
    }
  })

  // Whoever tries a card must not move the figures that others decide by.
  test('a trial has the result of every model, warns of each missing feature, and leaves no trace', async () => {
    const { slug, modelId } = await team.deploy(champion)
    await team.shadow(slug, true)
    const entry = await team.challenge(slug, challenger, 10)
    const applicant = { income: 1500, age: 3 }
    const url = `/v1/deployments/${slug}/trial`
    const body = await team.done('POST', url, applicant)
    const scored = (spec: typeof champion) => {
      const { score, pd, riskGrade } = evaluateNaively(spec, applicant)
      return { score, pd, risk_grade: riskGrade }
    }
    expect(body).toMatchObject({
      ...scored(champion),
      trial: true,
      model_version: '1.0',
      contributions: { income: 7, home: 1 },
      warnings: ['missing_feature: home', 'missing_feature: code'],
      models: [
        {
          model_id: modelId,
          role: 'champion',
          challenger_id: null,
          served: true,
          ...scored(champion),
          missing_features: ['home'],
        },
        {
          model_id: entry.modelId,
          role: 'challenger',
          challenger_id: entry.id,
          served: false,
          ...scored(challenger),
          missing_features: ['home', 'code'],
        },
      ],
    })
    expect(body.shadow_scores).toHaveLength(1)
    const strict = await team.call('POST', url, { ...applicant, strict_mode: true })
    expect(formatRefusal(strict)).toMatchObject({ status: 422, details: [{ path: 'home' }] })
    const invalid = await team.call('POST', url, { income: true })
    expect(findOutcome(invalid)).toBe('400 invalid_request')
    expect(findOutcome(await team.call('GET', `/v1/scores/${body.request_id}`))).toBe(
      '404 score_not_found',
    )
    const stats = await team.done('GET', `/v1/deployments/${slug}/stats`)
    expect(JSON.stringify(stats)).toContain('"total_requests":0')
    const { values } = service.services.scoring
    const counted = { ...values.totals() }
    await team.done('POST', url, applicant)
    expect(values.totals()).toEqual(counted)
  })

  test('a trial gives reasons as a score does', async () => {
    const { slug } = await team.deploy(dmgCard())
    const [example] = (await makeSchema(slug)).examples
    const query = '?reasons=3&lang=en'
    const trial = await team.done('POST', `/v1/deployments/${slug}/trial${query}`, example)
    const answer = await service.call({
      url: `/v1/score/${slug}${query}`,
      token: team.key,
      body: example,
    })
    const { request_id: _id, scored_at: _at, ...scored } = answer.json()
    expect(answer.statusCode).toBe(200)
    expect(trial).toMatchObject(scored)
  })
})
