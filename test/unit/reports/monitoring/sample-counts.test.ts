import { expect, test } from 'vitest'
import { checkSpec, compileModel } from '../../../../src/engine/index.ts'
import { countSample } from '../../../../src/reports/monitoring/sample-counts.ts'
import { card, numeric } from '../../../support/cards/cards.ts'

function counted(values: readonly unknown[]) {
  const age = numeric('age', [
    ['(-Infinity, 25]', -12],
    ['(25, 60]', 9.5],
    ['Missing', 3],
  ])
  const check = checkSpec(card([age], { base_points: 100 }))
  if (!check.ok) throw new Error('the card is not valid')
  const of = { spec: check.spec, model: compileModel(check.spec) }
  return countSample(
    of,
    values.map((value) => ({ age: value })),
  )
}

// Worked by hand: scores are 88 (twice), 109.5, 103 (twice), 100 (a number in no bin) and 100 (a
// text).
test('applicants are counted by bin, and a Missing bin counts missing values', () => {
  const { n, meanScore, counts } = counted([20, 25, 26, null, null, 61, 'old'])
  expect(n).toBe(7)
  expect(meanScore).toBeCloseTo((88 + 88 + 109.5 + 103 + 103 + 100 + 100) / 7, 12)
  expect(counts.features).toEqual({ age: { bins: [2, 1, 2], no_bin: 1, not_a_number: 1 } })
})

test('each applicant is in one band of scores, ties included', () => {
  const { counts, n } = counted([
    ...Array(30).fill(20),
    ...Array(50).fill(30),
    ...Array(20).fill(null),
  ])
  const bands = counts.score_bands ?? []
  expect(bands.reduce((sum, band) => sum + band.n, 0)).toBe(n)
  expect(bands[0]?.min).toBeNull()
  expect(bands.at(-1)?.max).toBeNull()
  for (const [index, { min, max, n: inside }] of bands.entries()) {
    const low = min ?? Number.NEGATIVE_INFINITY
    const high = max ?? Number.POSITIVE_INFINITY
    const sizes = [
      [88, 30],
      [109.5, 50],
      [103, 20],
    ] as const
    const expected = sizes.reduce(
      (sum, [score, size]) => sum + (score >= low && score < high ? size : 0),
      0,
    )
    expect([index, inside]).toEqual([index, expected])
  }
})

test('a sample of nobody has no mean', () => {
  expect(counted([])).toMatchObject({ n: 0, meanScore: null })
})
