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
import { scanApplicants } from '../../src/log/reading/applicant-scan.ts'
import { readBaseline } from '../../src/reports/monitoring/baseline.ts'
import { cellLayout } from '../../src/reports/monitoring/cell-layout.ts'
import { CutoffTally } from '../../src/reports/monitoring/cutoffs.ts'
import { MigrationTally } from '../../src/reports/monitoring/migration.ts'
import type { ModelTallies, ModelTally } from '../../src/reports/monitoring/model-tally.ts'
import { countSample } from '../../src/reports/monitoring/sample-counts.ts'
import { featureStabilities } from '../../src/reports/monitoring/stability.ts'
import {
  populationStability,
  readZeroFill,
} from '../../src/reports/monitoring/statistics/population-stability.ts'
import { discoveries, mcNemar } from '../../src/reports/monitoring/statistics/significance.ts'
import { SwapTally } from '../../src/reports/monitoring/swap-set.ts'
import { card, numeric } from '../support/cards/cards.ts'
import { findLog, scanned } from '../support/score-log/scanned.ts'

const [cases = '500', seed = '1'] = process.argv.slice(2)
const write = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`)
const sampled = <T>(of: fc.Arbitrary<T>) =>
  fc.sample(of, { numRuns: Number(cases), seed: Number(seed) })

const count = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 30 }), fc.nat(3_000_000))
const table = fc
  .array(fc.tuple(count, count), { minLength: 2, maxLength: 40 })
  .filter((cells) => [0, 1].every((side) => cells.some((cell) => (cell[side] ?? 0) > 0)))
const FILLS = ['0.9', '0.99', '1', 'skip', 'share:0.0001']
for (const cells of sampled(table)) {
  const expected = cells.map(([e]) => e)
  const actual = cells.map(([, a]) => a)
  const fill = { kind: 'count', count: 0.5 } as const
  const { psi, cv95, pValue, zeroBins } = populationStability(expected, actual, fill)
  write({ kind: 'psi', expected, actual, psi, cv95, pValue, zeroBins })
  for (const text of FILLS) {
    const zeroFill = readZeroFill(text)
    if (zeroFill === null) throw new Error(`${text} is not a zero_fill`)
    const filled = populationStability(expected, actual, zeroFill).psi
    write({ kind: 'fill', zeroFill: text, expected, actual, psi: filled })
  }
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

/** Place of the cell of values in no bin, after those of the bins. */
const NO_BIN = 3
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
  const facts = {
    id: 'bsl_1',
    modelId: 'mod_1',
    origin: 'counts',
    createdBy: 'usr_1',
    createdAt: new Date(0),
  } as const
  const features = [expected, actual].map(
    (counted) => readBaseline({ ...facts, ...counted }, of).features[0],
  )
  write({
    kind: 'sample',
    pdo,
    then,
    now,
    counts: features,
    means: [expected.meanScore, actual.meanScore],
    bands: expected.counts.score_bands,
    feature: computeStability(of, { ...facts, ...expected }, features[1] ?? [], now.length),
  })
}

/** The figures of the feature against a sample, and against one that counts no values in no bin. */
function computeStability(
  of: ReturnType<typeof cardWith>,
  sample: Parameters<typeof readBaseline>[0],
  actual: readonly (number | null)[],
  n: number,
) {
  const layouts = cellLayout(of)
  const known = readBaseline(sample, of)
  const unknown = {
    ...known,
    features: known.features.map((cells) => cells?.map((one, at) => (at === NO_BIN ? null : one))),
  }
  const tallies = { readCounts: () => Float64Array.from(actual, Number) } as unknown as ModelTallies
  return [known, unknown].map((baseline) => {
    const input = {
      card: of,
      layouts,
      baseline: baseline as typeof known,
      zeroFill: { kind: 'count', count: 0.5 } as const,
      thresholds: { watch: 0.1, act: 0.25 },
    }
    const [found] = featureStabilities(input, tallies, { n } as ModelTally)
    return { psi: found?.csi_psi, points: found?.csi_points, compared: found?.n_compared }
  })
}

const score = fc.integer({ min: 0, max: 30 })
const pairs = fc.tuple(
  fc.constantFrom(1, -1),
  fc.integer({ min: -1, max: 31 }),
  fc.constantFrom('same_cutoff', 'same_approval_rate', 'same_bad_rate'),
  fc.array(fc.tuple(score, score), { minLength: 1, maxLength: 200 }),
)
const LOG = { teamId: 'team_1', deploymentId: 'dep_1', fromMs: 0, toMs: 1 }
for (const [direction, cutoff, rule, applicants] of sampled(pairs)) {
  const rows = applicants.map((both) => ({
    // A better score has a smaller probability. A power of two keeps sums exact, so that
    // equal rates are equal.
    results: both.map((score, model) => {
      const rank = direction === 1 ? 31 - score : score + 1
      return { score, pd: (rank * (2 + model)) / 128 }
    }),
  }))
  const log = findLog(scanned(['a', 'b'], rows))
  const swap = new SwapTally({
    challengerId: 'ch_b',
    rule: rule as 'same_cutoff',
    cutoff,
    challengerCutoff: null,
    findDirection: async () => direction as 1,
    challengerDirection: direction as 1,
  })
  await scanApplicants({ log, query: LOG, dedupe: 'none' }, swap.makeReader)
  const cuts = new CutoffTally({
    modelId: 'a',
    cutoffs: [cutoff],
    direction: direction as 1,
    grades: [],
  })
  await scanApplicants({ log, query: LOG, dedupe: 'none' }, cuts.makeReader)
  const [cut] = cuts.report().cutoffs
  write({ kind: 'swap', direction, cutoff, rule, rows, swap: await swap.report(), cut })
}

const GRADES = ['A', 'B', 'C', 'D']
const graded = fc.tuple(fc.integer({ min: -1, max: 3 }), fc.double({ min: 0, max: 1, noNaN: true }))
const migrations = fc.array(fc.tuple(graded, graded), { minLength: 1, maxLength: 200 })
for (const applicants of sampled(migrations)) {
  const results = applicants.map((both) => ({ results: both.map(([, pd]) => ({ score: 1, pd })) }))
  const columns = scanned(['a', 'b'], results)
  const models = columns.models.map((model, place) => ({
    ...model,
    grades: Int16Array.from(applicants, (both) => both[place]?.[0] ?? -1),
    gradeNames: GRADES,
  }))
  const tally = new MigrationTally('ch_b')
  const log = findLog({ ...columns, models })
  await scanApplicants({ log, query: LOG, dedupe: 'none' }, tally.makeReader)
  const rows = applicants.map((both) => both.map(([grade, pd]) => [GRADES[grade] ?? null, pd]))
  write({ kind: 'migration', rows, migration: tally.report(GRADES) })
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
