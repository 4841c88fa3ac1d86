import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ScoreCounts } from '../../../../src/reports/performance/statistics/score-counts.ts'

const score = fc.oneof(
  fc.integer({ min: -20, max: 20 }),
  fc.double({ noNaN: true }),
  fc.constantFrom(0, -0, 5e-324, Number.MAX_VALUE),
)

test('any scores in any order are counted as one by one, both zeros together', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(score, fc.boolean()), { maxLength: 3_000 }),
      async (applicants) => {
        const counts = new ScoreCounts()
        const expected = new Map<number, { good: number; bad: number }>()
        for (const [own, isBad] of applicants) {
          counts.add(own, own / 2, isBad ? 0 : 1, isBad ? 1 : 0)
          const count = expected.get(own) ?? { good: 0, bad: 0 }
          expected.set(own, count)
          if (isBad) count.bad++
          else count.good++
        }
        const found = await counts.sorted()
        expect(counts.size).toBe(expected.size)
        expect(found.map((one) => one.score)).toEqual(
          [...expected.keys()].sort((a, b) => a - b).map((one) => one + 0),
        )
        for (const { score: own, good, bad, pd } of found) {
          expect({ good, bad }).toEqual(expected.get(own))
          expect(pd + 0).toBe(own / 2 + 0)
        }
      },
    ),
    { numRuns: 50 },
  )
})
