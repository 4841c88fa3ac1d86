/**
 * The answers over HTTP against the second opinion in test/support/naive/naive-evaluator.ts, over
 * random specs and applicants: deploy, storage, parsing and the JSON that the service writes itself
 * lie in between. A failure prints the seed; pass it to fc.assert to repeat it.
 */
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { ScoreBatchResult, ScoreResult } from '../../../schemas/scoring.ts'
import { applicantFor, validSpec } from '../../support/cards/spec-arbitraries.ts'
import { expectSuccess, formatRefusal } from '../../support/expect/answers.ts'
import { contributionsInOrder } from '../../support/expect/contribution-order.ts'
import {
  type Applicant,
  evaluateNaively,
  type NaiveSpec,
} from '../../support/naive/naive-evaluator.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'

const SPECS = 60
const APPLICANTS_PER_SPEC = 12
const SINGLES_PER_SPEC = 4

const NO_FEATURES = "no_features: the request names none of the model's features"
const IGNORED_ID = 'ignored_id: the id of a record must be a text, or a number up to 2^53 - 1'

/** Not in a body: the first is refused anywhere in it, the second is not a variable. */
const LEFT_OUT = ['__proto__', 'strict_mode']

const cases = validSpec().chain((spec) => {
  const length = { minLength: APPLICANTS_PER_SPEC, maxLength: APPLICANTS_PER_SPEC }
  return fc.record({
    // As it arrives: JSON has no -0.
    spec: fc.constant<NaiveSpec>(JSON.parse(JSON.stringify(spec))),
    applicants: fc.array(applicantFor(spec).map(asSent), { ...length, size: 'max' }),
  })
})

/** JSON text of an applicant, whose infinite numbers are written so that JSON.parse reads them. */
function asSent(applicant: Applicant): string {
  const entries = Object.entries(applicant).filter(([name]) => !LEFT_OUT.includes(name))
  const write = (value: unknown) =>
    typeof value === 'number' && !Number.isFinite(value)
      ? `${value < 0 ? '-' : ''}1e400`
      : JSON.stringify(value)
  return `{${entries.map(([name, value]) => `${JSON.stringify(name)}:${write(value)}`).join()}}`
}

/**
 * What the texts promise for an applicant; `reservedName` is not a variable in this form of body.
 */
function expectedFor(spec: NaiveSpec, applicant: Applicant, form: 'single' | 'batch') {
  const opinion = evaluateNaively(spec, applicant)
  const { score, pd, riskGrade, unmatched, missing, namesNone } = opinion
  const ofFeatures = spec.features.flatMap(({ name }): unknown[] => {
    if (form === 'batch' && missing.includes(name)) return [`missing_feature: ${name}`]
    if (!unmatched.includes(name)) return []
    const message = expect.any(String)
    return [{ type: 'no_bin_match', variable: name, value: applicant[name], message }]
  })
  const warnings = namesNone ? [NO_FEATURES, ...ofFeatures] : ofFeatures
  const reserved = form === 'batch' ? ['id'] : []
  for (const variable of opinion.unknown.filter((name) => !reserved.includes(name))) {
    warnings.push({ type: 'unknown_variable', variable, message: expect.any(String) })
  }
  const contributions = Object.fromEntries(opinion.contributions)
  return { ...opinion, result: { score, pd, risk_grade: riskGrade, contributions, warnings } }
}

function echoed(id: unknown): unknown {
  if (typeof id === 'number') return Math.abs(id) <= Number.MAX_SAFE_INTEGER ? id : null
  return typeof id === 'string' ? id : null
}

describe.each(backends)('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  let owner: string
  let key: string

  beforeAll(async () => {
    owner = await service.signIn()
    key = await service.createKey(owner)
  })

  const post = (url: string, body: string) => service.call({ url, token: key, body })

  async function expectSingle(slug: string, spec: NaiveSpec, text: string): Promise<void> {
    const { invalid, contributions, result } = expectedFor(spec, JSON.parse(text), 'single')
    const response = await post(`/v1/score/${slug}`, text)
    if (invalid.length > 0) {
      const { status, details } = formatRefusal(response)
      expect([status, details?.map(({ path }) => path)]).toEqual([400, invalid])
      return
    }
    expect(expectSuccess(response, ScoreResult)).toMatchObject(result)
    expect(contributionsInOrder(response.body)).toEqual(contributions)
  }

  async function expectBatch(slug: string, spec: NaiveSpec, texts: string[]): Promise<void> {
    const expected = texts
      .map((text) => ({ text, ...expectedFor(spec, JSON.parse(text), 'batch') }))
      .filter(({ invalid }) => invalid.length === 0)
    const records = expected.map(({ text }) => text).join()
    const body = `{"records":[${records}],"include_contributions":true}`
    const response = await post(`/v1/score/${slug}/batch`, body)
    expect(expectSuccess(response, ScoreBatchResult).results).toEqual(
      expected.map(({ text, result }) => {
        const { id } = JSON.parse(text)
        const isIgnored = echoed(id) === null && id !== undefined && id !== null
        const warnings = isIgnored ? [IGNORED_ID, ...result.warnings] : result.warnings
        return { id: echoed(id), ...result, warnings }
      }),
    )
  }

  // Whoever recomputes a decision from the published rules must come to the same number, to the
  // bit.
  test('every answer equals the naive evaluation, single and in a batch, with its warnings in order', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async ({ spec, applicants }) => {
        const slug = await service.deploy(owner, spec)
        await expectBatch(slug, spec, applicants)
        for (const text of applicants.slice(0, SINGLES_PER_SPEC)) {
          await expectSingle(slug, spec, text)
        }
      }),
      { numRuns: SPECS },
    )
  })
})
