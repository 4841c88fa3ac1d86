/**
 * Writes random labelled samples with the figures of this service as JSON lines, for
 * `credit_libraries.py`:
 *
 *   node test/peers/credit-libraries.ts [CASES] [SEED] > FIGURES
 *
 * Scores have ties; grades have few applicants and many, and none or all of them bad.
 */
import fc from 'fast-check'
import {
  populationStability,
  readZeroFill,
} from '../../src/reports/monitoring/statistics/population-stability.ts'
import { computeCalibration } from '../../src/reports/performance/statistics/calibration.ts'
import { computeDiscrimination } from '../../src/reports/performance/statistics/discrimination.ts'
import { comparePaired, countScores } from '../../src/reports/performance/statistics/paired.ts'

const [cases = '300', seed = '1'] = process.argv.slice(2)
const write = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`)
const sampled = <T>(of: fc.Arbitrary<T>) =>
  fc.sample(of, { numRuns: Number(cases), seed: Number(seed) })

const grade = fc
  .tuple(fc.integer({ min: 1, max: 2_000 }), fc.nat(1_000), fc.integer({ min: 1, max: 999 }))
  .map(([n, share, pd]) => ({ n, bad: Math.round((n * share) / 1_000), meanPd: pd / 1_000 }))
for (const group of sampled(grade)) {
  const { jeffreysP, binomialP, light } = computeCalibration(group)
  write({ kind: 'calibration', ...group, jeffreysP, binomialP, light })
}

const score = fc.integer({ min: 300, max: 340 })
const labelled = fc
  .array(fc.tuple(score, score, fc.boolean()), { minLength: 20, maxLength: 300 })
  .filter((rows) => [true, false].every((is) => rows.filter(([, , bad]) => bad === is).length > 1))
const SAFER = { champion: 1, challenger: 1 } as const
for (const rows of sampled(labelled)) {
  const champion = rows.map(([one]) => one)
  const challenger = rows.map(([, other]) => other)
  const isBad = rows.map(([, , bad]) => bad)
  const { auc, aucSe, ks } = await computeDiscrimination(await countScores(champion, isBad), 1)
  const { aucDifference, z, pValue } = await comparePaired({ champion, challenger, isBad }, SAFER)
  const paired = { aucDifference, z, pValue }
  write({ kind: 'discrimination', champion, challenger, isBad, auc, aucSe, ks, paired })
}

const count = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 60 }))
const table = fc
  .array(fc.tuple(count, count), { minLength: 2, maxLength: 12 })
  .filter((cells) => [0, 1].every((side) => cells.some((cell) => (cell[side] ?? 0) > 0)))
const SKIP = readZeroFill('skip')
for (const cells of sampled(table)) {
  if (SKIP === null) throw new Error('skip is not a zero_fill')
  const [expected, actual] = [cells.map(([e]) => e), cells.map(([, a]) => a)]
  write({ kind: 'psi', expected, actual, psi: populationStability(expected, actual, SKIP).psi })
}
