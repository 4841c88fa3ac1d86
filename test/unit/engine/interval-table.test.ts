import fc from 'fast-check'
import { expect, test } from 'vitest'
import { findInterval, IntervalTableBuilder } from '../../../src/engine/bin-tables.ts'
import { type Interval, nextDown, nextUp } from '../../../src/engine/interval.ts'

const EXTREMES = [0, -0, Number.MIN_VALUE, Number.MAX_VALUE, -Number.MAX_VALUE, 1e-300, 1e300]

/** Ends of bins as cards have them, as close together and as far apart as doubles can be. */
const ends = fc.oneof(
  fc.integer({ min: -40, max: 40 }),
  fc.integer({ min: 0, max: 400 }).map((n) => n / 10),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(...EXTREMES),
  fc.integer({ min: -3, max: 3 }).map((n) => (n < 0 ? nextDown(n) : nextUp(n))),
)

interface Bounds {
  readonly cuts: readonly number[]
  readonly isOpen: boolean
  /** Which of the intervals are left out. */
  readonly holes: readonly boolean[]
}

/** One interval between each two cuts, the upper one included, as in a card. */
function listIntervals({ cuts, isOpen, holes }: Bounds): Interval[] {
  const sorted = [...new Set(cuts.map((cut) => cut + 0))].sort((a, b) => a - b)
  const bounds = isOpen ? [-Infinity, ...sorted, Infinity] : sorted
  const between = bounds.slice(1).map((high, index) => ({
    low: bounds[index] === -Infinity ? -Infinity : nextUp(bounds[index] ?? 0),
    high,
  }))
  return between.filter((_, index) => holes[index] !== true)
}

const features = fc.array(
  fc.record({
    cuts: fc.array(ends, { maxLength: 40 }),
    isOpen: fc.boolean(),
    holes: fc.array(
      fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
      { maxLength: 40 },
    ),
  }),
  { minLength: 1, maxLength: 3 },
)

// A number beside the right interval would be a wrong score.
test('a number is found in the interval that contains it, whatever the intervals are', () => {
  fc.assert(
    fc.property(features, fc.array(ends), (bounds, values) => {
      const builder = new IntervalTableBuilder()
      const added = bounds.map((one) => {
        const intervals = listIntervals(one)
        return { intervals, place: builder.add(intervals) }
      })
      const tables = builder.tables()
      for (const { intervals, place } of added) {
        if (intervals.length === 0) continue
        const edges = intervals.flatMap(({ low, high }) => [low, nextDown(low), high, nextUp(high)])
        for (const value of [...values, ...edges, ...EXTREMES].filter(Number.isFinite)) {
          const wanted = intervals.findIndex(({ low, high }) => low <= value && value <= high)
          const found = findInterval(tables, place, value)
          expect(found === -1 ? -1 : found - place.intervalStart).toBe(wanted)
        }
      }
    }),
    { numRuns: 3_000 },
  )
})
