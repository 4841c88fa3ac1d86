import { expect, test } from 'vitest'
import { sortedInTurns } from '../../../../src/reports/performance/statistics/in-turns.ts'

test.each([0, 1, 4_095, 4_096, 4_097, 50_001])('sorts %d numbers', async (length) => {
  const values = Float64Array.from({ length }, (_, index) => ((index * 7_919) % 10_007) - 5_000)
  expect(await sortedInTurns(values)).toEqual(Float64Array.from(values).sort())
})
