import { expect, test } from 'vitest'
import { compileScale, probabilityOfDefault } from '../../../src/engine/scaling.ts'

// Worked by hand: 600 points at 19:1, 50 points double the odds; 650 points are 38:1, 550 are
// 9.5:1.
test.each([
  [600, 1 / 20],
  [650, 1 / 39],
  [550, 1 / 10.5],
])('at %d points the probability of default is %d', (score, pd) => {
  const scale = compileScale({ base_score: 600, base_odds: 19, pdo: 50 })
  expect(probabilityOfDefault(scale, score)).toBeCloseTo(pd, 14)
})

test('with a negative pdo a higher score is a higher risk', () => {
  const scale = compileScale({ base_score: 600, base_odds: 19, pdo: -50 })
  expect(probabilityOfDefault(scale, 650)).toBeCloseTo(1 / 10.5, 14)
})

test('however extreme the score, the probability is a number from 0 to 1', () => {
  for (const pdo of [20, -20, 5e-324, -1e-300]) {
    const scale = compileScale({ base_score: 600, base_odds: 50, pdo })
    for (const score of [0, 1e308, -1e308, 1.7976931348623157e308, -1.7976931348623157e308]) {
      const pd = probabilityOfDefault(scale, score)
      expect(pd >= 0 && pd <= 1, `pdo ${pdo}, score ${score}`).toBe(true)
    }
  }
})

test('a scale without finite factor and offset throws scale_invalid', () => {
  const overflow = { base_score: 0, base_odds: 50, pdo: 1e308 }
  expect(() => compileScale(overflow)).toThrow(expect.objectContaining({ code: 'scale_invalid' }))
})
