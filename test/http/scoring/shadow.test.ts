import { beforeAll, describe, expect, test } from 'vitest'
import {
  ScoreBatchResult,
  ScorecardBatchResult,
  ScorecardScoreResult,
  ScoreResult,
} from '../../../schemas/scoring.ts'
import { card, categorical, numeric, plainFeature } from '../../support/cards/cards.ts'
import { expectSuccess, findOutcome, formatRefusal } from '../../support/expect/answers.ts'
import { evaluateNaively, type NaiveSpec } from '../../support/naive/naive-evaluator.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'
import { type Entry, numberedSpec, Team } from '../../support/start/team.ts'

const champion = card([plainFeature('income'), categorical('home', [['own', 5]])], {
  name: 'Champion',
  version: '1.0',
  risk_grades: [{ grade: 'A', min_score: 100, max_score: 107 }],
})
/** Models that differ in features, types, scale and grades. */
const CHALLENGERS: NaiveSpec[] = [
  card([plainFeature('income')], { name: 'Other name', version: '2.0', base_points: -1e6 / 3 }),
  card(
    [
      categorical('income', [
        ['1', 0.1],
        ['Missing', 0.7],
      ]),
      numeric('age', [
        ['[18, 40)', 1 / 3],
        ['Missing', -9.75],
      ]),
    ],
    {
      version: '1.0',
      base_points: 0.2,
      scaling: { base_score: 0.3, base_odds: 1.5, pdo: -2 },
      risk_grades: [{ grade: 'good "one" 🦄', min_score: null, max_score: null }],
    },
  ),
  card([plainFeature('toString'), plainFeature('10'), plainFeature('home')], { version: '"\\\n' }),
]
const APPLICANTS: object[] = [
  { income: 1, home: 'own' },
  { income: -5, home: 'tent', age: 39.999 },
  { income: null, age: 40 },
  { home: 3, toString: 1, '10': -1, pet: 'x' },
  {},
]

// Championship and shares come from the database: both kinds must answer alike.
describe.each(backends)('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  const team = Team.forSuite(service)
  let slug: string
  const entries: Array<Entry & { spec: NaiveSpec }> = []

  beforeAll(async () => {
    slug = (await team.deploy(champion)).slug
    for (const spec of CHALLENGERS)
      entries.push({ ...(await team.challenge(slug, spec, 15)), spec })
    await team.shadow(slug, true)
  })

  const post = (url: string, body: object) => service.call({ url, token: team.key, body })

  function scoredBy(spec: NaiveSpec, applicant: object) {
    const { score, pd, riskGrade } = evaluateNaively(spec, { ...applicant })
    return { score, pd, risk_grade: riskGrade }
  }
  /** Features that the champion does not have, and the applicant neither. */
  function missedBy({ features }: NaiveSpec, applicant: object) {
    const own = new Set(champion.features.map(({ name }) => name))
    const values = new Map(Object.entries(applicant))
    const missing_features = features
      .map(({ name }) => name)
      .filter((name) => !own.has(name) && (values.get(name) ?? null) === null)
    return missing_features.length === 0 ? {} : { missing_features }
  }
  const readShadows = (applicant: object) =>
    entries.map(({ id, modelId, spec }) => ({
      challenger_id: id,
      model_id: modelId,
      version: spec.version,
      ...scoredBy(spec, applicant),
      ...missedBy(spec, applicant),
    }))

  // A silent test that alters what it watches is none; a wrong number in it promotes a wrong model.
  test.each(APPLICANTS)(
    'the champion answers %j, and each challenger beside it to the bit',
    async (applicant) => {
      const expected = {
        ...scoredBy(champion, applicant),
        model_name: 'Champion',
        model_version: '1.0',
        shadow_scores: readShadows(applicant),
        contributions: Object.fromEntries(
          evaluateNaively(champion, { ...applicant }).contributions,
        ),
      }
      for (let n = 0; n < 5; n++) {
        const response = await team.ask(slug, applicant, `subject ${n}`)
        expect(expectSuccess(response, ScoreResult)).toMatchObject(expected)
      }
      const guide = await post('/api/v1/score', { scorecard_id: slug, applicant })
      expect(expectSuccess(guide, ScorecardScoreResult)).toMatchObject(expected)
    },
  )

  test('a batch carries the scores of the challengers on each result', async () => {
    const expected = APPLICANTS.map((applicant) => ({
      ...scoredBy(champion, applicant),
      shadow_scores: readShadows(applicant),
    }))
    const batch = await post(`/v1/score/${slug}/batch`, { records: APPLICANTS })
    const body = expectSuccess(batch, ScoreBatchResult)
    expect(body).toMatchObject({ model_version: '1.0', results: expected })
    expect(body).not.toHaveProperty('shadow_scores')
    const guide = await post('/api/v1/score/batch', { scorecard_id: slug, applicants: APPLICANTS })
    expect(expectSuccess(guide, ScorecardBatchResult).results).toMatchObject(expected)
  })

  test('only the champion warns, and not of what a challenger knows', async () => {
    const { warnings } = await team.score(slug, { income: 1, home: 'tent', age: 99, pet: 1 })
    expect(warnings.map(({ variable }: { variable: string }) => variable)).toEqual([
      ...['home', 'pet'],
    ])
    const { results } = await team.scoreBatch(slug, [{ income: 1, home: 'own' }])
    expect(results[0].warnings).toEqual([])
  })

  // docs/decisions.md 4.5: what only a shadow model misses refuses nothing.
  test('strict mode misses only what the champion misses, and takes what a challenger knows', async () => {
    const strict = { strict_mode: true }
    const complete = { income: 1, home: 'own' }
    const answer = await team.score(slug, { ...complete, ...strict })
    expect(answer.shadow_scores).toEqual(readShadows(complete))
    await team.scoreBatch(slug, [complete], strict)
    const wide = { ...complete, age: 20 }
    const known = await team.score(slug, { ...wide, ...strict })
    expect(known.warnings).toEqual([])
    expect(known.shadow_scores).toEqual(readShadows(wide))
    const { results } = await team.scoreBatch(slug, [wide], strict)
    expect(results[0].shadow_scores).toEqual(readShadows(wide))
    for (const [name, value] of Object.entries({ pet: 1, age: 'old', toString: {} })) {
      const refused = await team.ask(slug, { ...complete, ...strict, [name]: value })
      expect(formatRefusal(refused)).toMatchObject({
        status: 422,
        error: 'strict_mode_violation',
        details: [{ path: name }],
      })
    }
  })

  // The caller is not at fault for a value that only a challenger can't take.
  test("a value that a challenger can't take leaves that challenger out, and the answer unharmed", async () => {
    const applicant = { income: 1, home: 'own', age: true }
    const { score, shadow_scores } = await team.score(slug, applicant)
    expect(score).toBe(scoredBy(champion, applicant).score)
    const others = readShadows({ income: 1, home: 'own' }).filter((_, index) => index !== 1)
    expect(shadow_scores).toEqual(others)
    const { results } = await team.scoreBatch(slug, [{ income: 1, home: 'own' }, applicant])
    expect(results[0].shadow_scores).toEqual(readShadows({ income: 1, home: 'own' }))
    expect(results[1].shadow_scores).toEqual(others)
    expect(findOutcome(await team.ask(slug, { income: true }))).toBe('400 invalid_request')
  })

  test('without active challengers, and in a live split, there is no shadow_scores', async () => {
    const own = await team.deploy(numberedSpec(1))
    await team.shadow(own.slug, true)
    const isShown = async () => {
      const single = await team.score(own.slug, { income: 1 })
      const batch = await team.scoreBatch(own.slug, [{ income: 1 }, {}])
      const shown = [single, ...batch.results].map((one) => 'shadow_scores' in one)
      expect(new Set(shown).size).toBe(1)
      return shown[0]
    }
    expect(await isShown()).toBe(false)
    const { id } = await team.challenge(own.slug, numberedSpec(2), 10)
    expect(await isShown()).toBe(true)
    await team.shadow(own.slug, false)
    expect(await isShown()).toBe(false)
    await team.shadow(own.slug, true)
    expect(await isShown()).toBe(true)
    await team.remove(own.slug, id)
    expect(await isShown()).toBe(false)
  })

  test('an empty batch is answered empty', async () => {
    expect(await team.scoreBatch(slug, [])).toMatchObject({ results: [], total: 0 })
  })
})
