/**
 * Writes tables of counts with the figures of this service as JSON lines, for `monitoring.py`:
 *
 *   node test/peers/monitoring.ts [CASES] [SEED] > FIGURES
 *
 * The tables have ties, cells that are empty on one side or on both, samples of one applicant and
 * of millions; the scores have ties, missing values and both signs of the pdo.
 */
import fc from 'fast-check'
import { checkSpec, compileModel, type ScorecardSpec } from '../../src/engine/index.ts'
import { baselineOf } from '../../src/monitoring/baseline.ts'
import { countSample } from '../../src/monitoring/sample-counts.ts'
import { discoveries } from '../../src/monitoring/statistics/benjamini-hochberg.ts'
import { mcNemar } from '../../src/monitoring/statistics/mcnemar.ts'
import { populationStability } from '../../src/monitoring/statistics/population-stability.ts'
import { card, numeric } from '../support/cards/cards.ts'

const [cases = '500', seed = '1'] = process.argv.slice(2)
const write = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`)
const sampled = <T>(of: fc.Arbitrary<T>) =>
  fc.sample(of, { numRuns: Number(cases), seed: Number(seed) })

const count = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 30 }), fc.nat(3_000_000))
const table = fc
  .array(fc.tuple(count, count), { minLength: 2, maxLength: 40 })
  .filter((cells) => [0, 1].every((side) => cells.some((cell) => (cell[side] ?? 0) > 0)))
for (const cells of sampled(table)) {
  const expected = cells.map(([e]) => e)
  const actual = cells.map(([, a]) => a)
  const fill = { kind: 'count', count: 0.5 } as const
  const { psi, cv95, pValue, zeroBins } = populationStability(expected, actual, fill)
  write({ kind: 'psi', expected, actual, psi, cv95, pValue, zeroBins })
}

const swaps = fc.tuple(fc.nat(5_000), fc.nat(5_000)).filter(([a, b]) => a + b > 0)
for (const [out, into] of sampled(swaps)) {
  const { chi2 = null, pValue = null } = mcNemar(out, into) ?? {}
  write({ kind: 'mcnemar', out, into, chi2, pValue })
}

const pValues = fc.array(
  fc.oneof(fc.constant(0), fc.constant(1), fc.double({ min: 0, max: 0.1, noNaN: true })),
  { minLength: 1, maxLength: 40 },
)
for (const values of sampled(pValues)) {
  write({ kind: 'fdr', values, found: discoveries(values, 0.05) })
}

const value = fc.oneof(fc.constant(null), fc.integer({ min: -5, max: 15 }))
const sample = fc.tuple(
  fc.constantFrom(20, -20),
  fc.array(value, { minLength: 1, maxLength: 300 }),
  fc.array(value, { minLength: 1, maxLength: 300 }),
)
for (const [pdo, then, now] of sampled(sample)) {
  const of = cardWith(pdo)
  const [expected, actual] = [then, now].map((values) =>
    countSample(
      of,
      values.map((income) => ({ income })),
    ),
  )
  if (expected === undefined || actual === undefined) throw new Error('a sample is missing')
  const facts = { id: 'bsl_1', modelId: 'mod_1', origin: 'counts', createdAt: new Date(0) } as const
  const features = [expected, actual].map(
    (counted) => baselineOf({ ...facts, ...counted }, of).features[0],
  )
  write({
    kind: 'sample',
    pdo,
    then,
    now,
    counts: features,
    means: [expected.meanScore, actual.meanScore],
    bands: expected.counts.score_bands,
  })
}

function cardWith(pdo: number) {
  const sign = Math.sign(pdo)
  const income = numeric('income', [
    ['(-Infinity, 0]', -12 * sign],
    ['(0, 10]', 9.5 * sign],
    ['Missing', 3.25 * sign],
  ])
  const rest = { base_points: 100, scaling: { base_score: 100, base_odds: 20, pdo } }
  const check = checkSpec(card([income], rest))
  if (!check.ok) throw new Error('the card is not valid')
  const spec: ScorecardSpec = check.spec
  return { spec, model: compileModel(spec) }
}
