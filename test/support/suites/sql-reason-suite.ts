/**
 * Reasons of exported SQL against the engine. A portfolio that is declined in the warehouse must
 * get the reasons there that the service would give.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { dmgCard, worksheetCard } from '../cards/reason-cards.ts'
import { applicantFor, exactly, validSpec } from '../cards/spec-arbitraries.ts'
import type { NaiveSpec } from '../naive/naive-evaluator.ts'
import { scoredBoth } from './exported.ts'
import type { SqlEngine } from './sql-engines.ts'
import { columnsFor, readRow } from './sql-rows.ts'

const CARDS = 25
const APPLICANTS_PER_CARD = 40
const BINS_MAX = 14

const code = fc.constantFrom('A', 'B', 'C', "D's", undefined)

const cases = validSpec().chain((spec) =>
  fc.record({
    spec: fc.constant(spec),
    applicants: fc.array(applicantFor(spec), exactly(APPLICANTS_PER_CARD)),
    aggregate: fc.constantFrom('positive', 'net', 'max'),
    leastDistance: fc.constantFrom(0, 5.1, 1e300),
    count: fc.integer({ min: 1, max: 6 }),
    features: fc.array(
      fc.record({
        baseline: fc.integer({ min: -9_000, max: 9_000 }).map((n) => n / 30),
        code,
        codes: fc.array(code, exactly(BINS_MAX)),
        isEligible: fc.nat(5).map((n) => n > 0),
      }),
      exactly(spec.features.length),
    ),
  }),
)

interface Drawn {
  readonly baseline: number
  readonly code: string | undefined
  readonly codes: readonly (string | undefined)[]
  readonly isEligible: boolean
}

function withReasons(spec: NaiveSpec, features: readonly Drawn[], reasons: object) {
  const coded = (code: string | undefined) => (code === undefined ? {} : { reason_code: code })
  return {
    ...spec,
    reasons: { version: 1, method: 'fixed', baseline_basis: 'other', ...reasons },
    features: spec.features.map(({ bins, ...feature }, index) => {
      const { baseline = 0, code, codes = [], isEligible = true } = features[index] ?? {}
      return {
        ...feature,
        ...coded(code),
        reason_baseline: baseline,
        reason_eligible: isEligible,
        bins: bins.map((bin, at) => ({ ...bin, ...coded(codes[at]) })),
      }
    }),
  }
}

/** What the columns of reasons promise; each database that a test can run runs it. */
export function sqlReasonSuite(open: () => Promise<SqlEngine>): void {
  let engine: SqlEngine

  beforeAll(async () => {
    engine = await open()
  })
  afterAll(() => engine.close())

  const findReasons = async (card: object, applicants: readonly object[], count = 4) => {
    const columns = columnsFor(card as NaiveSpec)
    const rows = applicants.map((applicant) => readRow(applicant, columns))
    const both = await scoredBoth(engine, card, { columns, rows }, count)
    expect(both?.answers).toStrictEqual(both?.expected)
    return both?.answers.map((row) =>
      Array.from({ length: count }, (_, at) => row[`reason_${at + 1}`]),
    )
  }

  test('a random card gives the reasons of the engine, beside the same scores', async () => {
    await fc.assert(
      fc.asyncProperty(
        cases,
        async ({ spec, applicants, features, aggregate, leastDistance, count }) => {
          fc.pre(features.some(({ isEligible }) => isEligible))
          const card = withReasons(spec, features, { aggregate, min_distance: leastDistance })
          const columns = columnsFor(spec)
          const odd = columns.map(({ type }) => (type === 'number' ? Number.NaN : null))
          const rows = [...applicants.map((applicant) => readRow(applicant, columns)), odd]
          const both = await scoredBoth(engine, card, { columns, rows }, count)
          // A statement can't have its points or names: another card is drawn.
          fc.pre(both !== null)
          expect(both.answers).toStrictEqual(both.expected)
        },
      ),
      { numRuns: CARDS },
    )
  })

  test('the worked examples have their reasons, and nothing fills the columns', async () => {
    const engineer = { department: 'engineering', age: 25, income: 500 }
    const marketer = { department: 'marketing', age: 17, income: 500 }
    expect(await findReasons(dmgCard(), [engineer, marketer])).toEqual([
      ['RC2', 'RC1', null, null],
      ['RC2_2', 'RC1', null, null],
    ])
    const zeros = { tenure: 0, income: 0, util: 0, inquiries: 0 }
    const ones = { tenure: 1, income: 1, util: 1, inquiries: 1 }
    for (const aggregate of ['positive', 'net', 'max']) {
      const card = worksheetCard({ method: 'fixed', baseline_basis: 'mean', aggregate })
      expect(await findReasons(card, [zeros, ones])).toEqual([
        ['R07', 'R02', 'R09', null],
        [null, null, null, null],
      ])
    }
  })

  // Averages of thirds make sums that are equal only when rounded.
  test('ties are in the order of the specification', async () => {
    const feature = (name: string, points: number, baseline: number) => ({
      name,
      type: 'numeric',
      reason_baseline: baseline,
      reason_code: name.toUpperCase(),
      bins: [{ range: '(-Infinity, Infinity)', points }],
    })
    const card = {
      ...worksheetCard(),
      features: [feature('d', 0.3, 0.6), feature('a', 0.1, 0.4), feature('c', 0.7, 1)],
    }
    expect(await findReasons(card, [{ a: 1, c: 1, d: 1 }])).toEqual([['D', 'A', 'C', null]])
  })

  test('a card of 300 features has its reasons', async () => {
    const names = Array.from({ length: 300 }, (_, index) => `f${index}`)
    const card = {
      ...worksheetCard(),
      features: names.map((name, index) => ({
        name,
        type: 'numeric',
        reason_code: `C${index % 7}`,
        reason_baseline: 0.1 * index,
        bins: [{ range: '(0, 1]', points: 30 - 0.1 * index }],
      })),
    }
    const rows = [0, 1, 2].map((shift) =>
      Object.fromEntries(names.map((name, index) => [name, (index + shift) % 3 === 0 ? 1 : null])),
    )
    await findReasons(card, rows, 10)
  })
}
