/**
 * Champion and challengers with features of their own. Each way to a score must say the same of the
 * same applicant: from the socket, through Fastify, under `/api/v1`, and in a batch.
 */
import fc from 'fast-check'
import type { LightMyRequestResponse } from 'fastify'
import { describe, expect, test } from 'vitest'
import { card, categorical, plainFeature } from '../../support/cards/cards.ts'
import { formatRefusal } from '../../support/expect/answers.ts'
import { evaluateNaively, type NaiveSpec } from '../../support/naive/naive-evaluator.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'
import { Team } from '../../support/start/team.ts'

const PAIRS = 10
const REQUESTS = 12

const NAMES = ['income', 'age', 'toString', '10', 'home', 'purpose']
const featureNamed = (name: string) =>
  name === 'home' || name === 'purpose'
    ? categorical(name, [
        ['own', 5],
        ['3', 7],
      ])
    : plainFeature(name)
const cards = (version: string) =>
  fc
    .uniqueArray(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 5 })
    .map((names) => card(names.map(featureNamed), { version, base_points: 100 + names.length / 3 }))
const value = fc.constantFrom<unknown>(1, -3, 0.5, 'own', '3', '1', null, true, {}, [])
const applicants = fc
  .array(fc.tuple(fc.constantFrom(...NAMES, 'pet'), value), { maxLength: 7 })
  .map((entries) => Object.fromEntries(entries) as Record<string, unknown>)
/** Whole and well typed, with any of the names left out. */
const wholeApplicants = fc
  .subarray([...NAMES], { minLength: 3 })
  .map((names) => Object.fromEntries(names.map((name) => [name, 1]))) as typeof applicants

const pairs = fc.record({
  champion: cards('1.0'),
  challenger: cards('2.0'),
  isShadow: fc.boolean(),
  requests: fc.array(
    fc.record({ applicant: fc.oneof(applicants, wholeApplicants), isStrict: fc.boolean() }),
    { minLength: REQUESTS, maxLength: REQUESTS },
  ),
})

describe.each(backends.slice(-1))('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  const team = Team.forSuite(service)

  /** What an answer says of the applicant, without what differs from way to way. */
  function saidBy(response: LightMyRequestResponse) {
    const body = response.json()
    if (response.statusCode !== 200) {
      const paths = (body.details ?? []).map(({ path }: { path: string }) =>
        path.replace(/^(?:applicant\.|(?:records|applicants)\[0\]\.)/, ''),
      )
      return { status: response.statusCode, error: body.error, paths }
    }
    const { score, pd, risk_grade, shadow_scores } = body.results?.[0] ?? body
    return { status: 200, version: body.model_version, score, pd, risk_grade, shadow_scores }
  }

  async function allWays(slug: string, applicant: object, isStrict: boolean, routingKey: string) {
    const strict_mode = isStrict
    const send = (url: string, body: object) =>
      service.call({ url, token: team.key, body, headers: { 'x-routing-key': routingKey } })
    const answers = [
      await send(`/v1/score/${slug}`, { ...applicant, strict_mode }),
      // The fast path leaves such a query to Fastify.
      await send(`/v1/score/${slug}?lang=en`, { ...applicant, strict_mode }),
      await send(`/v1/score/${slug}/batch`, { records: [applicant], strict_mode }),
      await send('/api/v1/score', { scorecard_id: slug, applicant, strict_mode }),
      await send('/api/v1/score/batch', {
        scorecard_id: slug,
        applicants: [applicant],
        strict_mode,
      }),
    ].map(saidBy)
    for (const answer of answers) expect(answer).toEqual(answers[0])
    return answers[0] as (typeof answers)[number]
  }

  function scoredBy(spec: NaiveSpec, applicant: object) {
    const { score, pd, riskGrade } = evaluateNaively(spec, { ...applicant })
    return { score, pd, risk_grade: riskGrade }
  }

  /** Routing keys of both models of a live split. */
  async function findSubjects(slug: string): Promise<string[]> {
    const found = new Map<string, string>()
    for (let n = 0; found.size < 2 && n < 1_000; n++) {
      const { model_version } = await team.score(slug, {}, `subject ${n}`)
      found.set(model_version, `subject ${n}`)
    }
    return [...found.values()]
  }

  // A lender that asks for strict mode must be able to send what every model wants.
  test('no outcome depends on the draw, and all ways say the same, to the bit', async () => {
    await fc.assert(
      fc.asyncProperty(pairs, async ({ champion, challenger, isShadow, requests }) => {
        const { slug } = await team.deploy(champion)
        await team.shadow(slug, isShadow)
        await team.challenge(slug, challenger, 50)
        const subjects = isShadow ? ['anyone'] : await findSubjects(slug)
        const names = (spec: NaiveSpec) => spec.features.map(({ name }) => name)
        const known = new Set([...names(champion), ...names(challenger)])
        const asked = isShadow ? names(champion) : [...known]
        for (const { applicant, isStrict } of requests) {
          const outcomes = []
          for (const subject of subjects) {
            outcomes.push(await allWays(slug, applicant, isStrict, subject))
          }
          expect(new Set(outcomes.map(({ status }) => status)).size).toBe(1)
          const has = (name: string) => Object.hasOwn(applicant, name) && applicant[name] !== null
          const isWhole =
            asked.every(has) && Object.keys(applicant).every((name) => known.has(name))
          for (const outcome of outcomes) {
            if (isStrict && !isWhole) expect([400, 422]).toContain(outcome.status)
            if (outcome.status !== 200) continue
            const spec = outcome.version === '1.0' ? champion : challenger
            expect(outcome).toMatchObject(scoredBy(spec, applicant))
            if (!isShadow) continue
            const missing_features = names(challenger).filter(
              (name) => !names(champion).includes(name) && !has(name),
            )
            const expected = {
              version: '2.0',
              ...scoredBy(challenger, applicant),
              ...(missing_features.length > 0 && { missing_features }),
            }
            for (const shadow of outcome.shadow_scores) {
              const { challenger_id: _id, model_id: _model, ...shown } = shadow
              expect(shown).toEqual(expected)
            }
          }
        }
      }),
      { numRuns: PAIRS },
    )
  })

  test('a live split asks strictly for the features of both models, whoever is drawn', async () => {
    const { slug } = await team.deploy(card([plainFeature('income')], { version: '1.0' }))
    const both = card([plainFeature('income'), plainFeature('age')], { version: '2.0' })
    await team.challenge(slug, both, 50)
    for (const subject of await findSubjects(slug)) {
      const strict_mode = true
      const whole = await team.ask(slug, { income: 1, age: 1, strict_mode }, subject)
      expect(whole.statusCode, whole.body).toBe(200)
      const less = await team.ask(slug, { income: 1, strict_mode }, subject)
      expect(formatRefusal(less)).toMatchObject({ status: 422, details: [{ path: 'age' }] })
    }
  })

  test('a change of the challengers changes what is known, on every model that stays', async () => {
    const { slug } = await team.deploy(card([plainFeature('income')], { version: '1.0' }))
    const unknown = async () => (await team.score(slug, { income: 1, age: 1 })).warnings.length
    expect(await unknown()).toBe(1)
    const wide = card([plainFeature('age')], { version: '2.0' })
    const { id } = await team.challenge(slug, wide, 10)
    await team.shadow(slug, true)
    expect(await unknown()).toBe(0)
    await team.remove(slug, id)
    expect(await unknown()).toBe(1)
  })
})
