/**
 * Exported SQL against the engine. Whoever scores a portfolio in the warehouse must come to what
 * the service answers, to the bit.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { card, categorical, numeric, sampleApplicants, sampleSpec } from '../cards/cards.ts'
import { applicantFor, exactly, validSpec } from '../cards/spec-arbitraries.ts'

import { scoredBoth, statementFor } from './exported.ts'
import type { SqlEngine, TableColumn } from './sql-engines.ts'
import { columnsFor, readRow } from './sql-rows.ts'

const CARDS = 30
const APPLICANTS_PER_CARD = 40
const SCALES = 8
const SCORES_PER_SCALE = 1000
const FEATURES_MAX = 12

const cases = validSpec().chain((spec) =>
  fc.record({
    spec: fc.constant(spec),
    applicants: fc.array(applicantFor(spec), exactly(APPLICANTS_PER_CARD)),
    ofNumbers: fc.array(fc.boolean(), exactly(FEATURES_MAX)),
  }),
)

/** What exported SQL promises; each database that a test can run runs it. */
export function sqlSuite(open: () => Promise<SqlEngine>): void {
  let engine: SqlEngine

  beforeAll(async () => {
    engine = await open()
  })
  afterAll(() => engine.close())

  test('a random card gives the score, probability, grade and points of the engine, to the bit', async () => {
    let written = 0
    await fc.assert(
      fc.asyncProperty(cases, async ({ spec, applicants, ofNumbers }) => {
        const columns = columnsFor(spec, ofNumbers)
        const odd = [Number.NaN, Infinity, -Infinity].map((value) =>
          columns.map(({ type }, index) => (type === 'number' && index % 2 === 0 ? value : null)),
        )
        const rows = [...applicants.map((applicant) => readRow(applicant, columns)), ...odd]
        const both = await scoredBoth(engine, spec, { columns, rows })
        if (both === null) return
        written++
        expect(both.answers).toStrictEqual(both.expected)
      }),
      { numRuns: CARDS },
    )
    // The others hold names that no column can have.
    expect(written).toBeGreaterThan(CARDS / 2)
  })

  // A database's own exp is off by the last bit for one in twenty, and fails where it overflows.
  test('the probability of default has the bits of the engine on any scale', async () => {
    const anyDouble = fc.double({ noNaN: true, noDefaultInfinity: true })
    const scales = fc.record({
      base_score: fc.oneof(fc.constantFrom(0, 600), anyDouble),
      base_odds: fc.oneof(
        fc.constantFrom(1, 50),
        fc.double({ min: 5e-324, noNaN: true, max: 1e308 }),
      ),
      pdo: fc.oneof(
        fc.constantFrom(20, -20, 1e-300, 1e300),
        anyDouble.filter((pdo) => pdo !== 0),
      ),
    })
    // Where the exponent is any, small, or near a multiple of ln 2.
    const exponents = fc.oneof(
      fc.double({ noNaN: true, min: -760, max: 760 }),
      fc.double({ noNaN: true, min: -2, max: 2 }),
      fc.double({ noNaN: true, min: -1e-7, max: 1e-7 }),
      fc.integer({ min: -110, max: 2100 }).map((half) => (half * Math.LN2) / 2),
      fc.constantFrom(0, 1, -1, 1e300, -1e300, 709.782712893384, 709.7827128933841, -40),
    )
    await fc.assert(
      fc.asyncProperty(
        scales,
        fc.array(exponents, exactly(SCORES_PER_SCALE)),
        async (scaling, at) => {
          const factor = scaling.pdo / Math.LN2
          const offset = scaling.base_score - factor * Math.log(scaling.base_odds)
          fc.pre(Number.isFinite(offset) && Number.isFinite(factor) && factor !== 0)
          const scores = at.map((exponent) => offset + exponent * factor).filter(Number.isFinite)
          fc.pre(scores.length > 0)
          const bins = scores.map((score, index) => [`[${index}, ${index}]`, score] as const)
          const spec = card([numeric('x', bins)], { base_points: 0, scaling })
          const rows = scores.map((_, index) => [index])
          const columns = columnsFor(spec)
          const both = await scoredBoth(engine, spec, { columns, rows })
          expect(both?.answers).toStrictEqual(both?.expected)
        },
      ),
      { numRuns: SCALES },
    )
  })

  test('the sample has the scores that another program gave it, in every one of its 1,000 rows', async () => {
    const spec = sampleSpec()
    const sample = sampleApplicants()
    const columns = columnsFor(spec)
    const rows = sample.map(({ applicant }) => readRow(applicant, columns))
    const both = await scoredBoth(engine, spec, { columns, rows })
    expect(both?.answers).toStrictEqual(both?.expected)
    expect(both?.answers.map(({ score }) => score)).toEqual(sample.map(({ score }) => score))
  })

  // A card comes from anyone: what it is called must never run.
  test('names and categories that look like SQL are data', async () => {
    const hostile = [
      `'); DROP TABLE applicants; --`,
      `"; DROP TABLE applicants; --`,
      "\\'; DROP TABLE applicants; --",
      '\\',
      '*/ x /*',
      "''",
      '--\n',
      '\r\n\t\u0001',
      '\u0024{env:HOME} :name $1 ? %s {{ x }} @x &x',
      ...["{%'{#\\<%", '1 <% 2 %> 3', '{'.repeat(1000)],
      'é 🦄 \u2028 \u202e',
    ]
    // What starts a template is refused in a name.
    const names = hostile.map((text) => text.slice(0, 20).replaceAll(/[{<](?=[{%#])/g, ''))
    const spec = card(
      names.map((name) =>
        categorical(
          name,
          [...hostile.entries()].map(([at, text]) => [text, at]),
        ),
      ),
      { name: '\n*/ DROP TABLE applicants; --', version: '\r\n; DROP TABLE applicants' },
    )
    const columns = columnsFor(spec)
    const rows = hostile.map((text) => names.map(() => text))
    const both = await scoredBoth(engine, spec, { columns, rows })
    expect(both?.answers).toStrictEqual(both?.expected)
    expect(both?.answers.map(({ points_1 }) => points_1)).toEqual(hostile.map((_, at) => at))
    expect(await engine.query('SELECT 1 AS one FROM applicants')).toHaveLength(hostile.length)
  })

  // A column of the wrong type would give every row the points of no value at all.
  test('a column of texts for numbers, and of numbers for texts, is an error', async () => {
    const spec = card([numeric('x', [['(0, 1]', 1]]), categorical('y', [['3', 1]])])
    const run = async (types: readonly TableColumn['type'][]) => {
      const columns = types.map((type, at) => ({ name: at === 0 ? 'x' : 'y', type }))
      await engine.fill(columns, [types.map((type) => (type === 'number' ? 1 : '1'))])
      return engine.query(statementFor(engine, spec))
    }
    await expect(run(['number', 'text'])).resolves.toHaveLength(1)
    await expect(run(['text', 'text'])).rejects.toThrow()
    await expect(run(['number', 'number'])).rejects.toThrow()
  })

  // A sum as long as the card would be nested deeper than some databases allow.
  test('a card of 1,000 features and one of 1,000 bins are scored', async () => {
    const names = Array.from({ length: 1000 }, (_, index) => `f${index}`)
    const wide = card(names.map((name, index) => numeric(name, [['(0, 1]', 0.1 * index]])))
    const rows = [names.map((_, index) => (index % 3 === 0 ? null : index % 2))]
    const ofWide = await scoredBoth(engine, wide, { columns: columnsFor(wide), rows })
    expect(ofWide?.answers).toStrictEqual(ofWide?.expected)
    const bins = names.map((_, index) => [`(${index}, ${index + 1}]`, index / 7] as const)
    const deep = card([numeric('x', bins)])
    const edges = { columns: columnsFor(deep), rows: names.map((_, index) => [index + 1]) }
    const ofDeep = await scoredBoth(engine, deep, edges)
    expect(ofDeep?.answers).toStrictEqual(ofDeep?.expected)
  })
}
