/** What holds for the reasons of any card, without another implementation to compare with. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { foundReasons } from '../../support/cards/reason-cards.ts'

const NAMES = ['a', 'b', 'c', 'd', 'e']

interface Drawn {
  readonly points: readonly number[]
  readonly baseline: number
  readonly code: string
}

/** Value v of a feature is in bin v. */
function readCard(drawn: readonly Drawn[], reasons: object = {}, order = [...drawn.keys()]) {
  const features = drawn.map(({ points, baseline, code }, at) => ({
    name: NAMES[at] ?? '',
    type: 'numeric',
    reason_code: code,
    reason_baseline: baseline,
    bins: points.map((value, bin) => ({ range: `(${bin - 1}, ${bin}]`, points: value })),
  }))
  return {
    name: 'laws',
    version: '1',
    target: 't',
    base_points: 100,
    reasons: { version: 1, method: 'fixed', baseline_basis: 'mean', ...reasons },
    features: order.map((at) => features[at]),
    scaling: { base_score: 100, base_odds: 20, pdo: 20 },
  }
}

const tenths = fc.integer({ min: -300, max: 300 }).map((n) => n / 10)
const feature = fc.record({
  points: fc.array(tenths, { minLength: 3, maxLength: 3 }),
  baseline: tenths,
  code: fc.constantFrom('A', 'B', 'C'),
})
const card = fc.record({
  drawn: fc.array(feature, { minLength: 2, maxLength: NAMES.length }),
  picks: fc.array(fc.nat(2), { minLength: NAMES.length, maxLength: NAMES.length }),
  aggregate: fc.constantFrom('positive', 'net', 'max'),
})

const readApplicant = (picks: readonly number[]) =>
  Object.fromEntries(NAMES.map((name, at) => [name, picks[at] ?? 0]))

// Whoever improves must not be told that they have got worse.
test('a better bin never makes a feature a larger reason, nor a new one', () => {
  fc.assert(
    fc.property(card, fc.nat(NAMES.length - 1), fc.nat(2), ({ drawn, picks }, moved, bin) => {
      const points = drawn[moved]?.points
      if (points === undefined || !((points[bin] ?? 0) >= (points[picks[moved] ?? 0] ?? 0))) return
      const single = readCard(drawn.map((one, at) => ({ ...one, code: NAMES[at] ?? '' })))
      const distance = (values: readonly number[]) =>
        foundReasons(single, readApplicant(values), 10).reasons.find(
          ({ code }) => code === NAMES[moved],
        )?.distance ?? 0
      expect(distance(picks.with(moved, bin))).toBeLessThanOrEqual(distance(picks))
    }),
    { numRuns: 500 },
  )
})

test('the order of features decides among exact ties only', () => {
  fc.assert(
    fc.property(
      card,
      fc.array(fc.nat(), { maxLength: 8 }),
      ({ drawn, picks, aggregate }, swaps) => {
        const order = [...drawn.keys()]
        for (const at of swaps) {
          const [one, other] = [at % order.length, (at >> 3) % order.length]
          const kept = order[one] ?? 0
          order[one] = order[other] ?? 0
          order[other] = kept
        }
        const applicant = readApplicant(picks)
        const found = foundReasons(readCard(drawn, { aggregate }), applicant, 10)
        const other = foundReasons(readCard(drawn, { aggregate }, order), applicant, 10)
        const byDistance = (reasons: typeof found.reasons) =>
          reasons.map(({ code, distance }) => `${distance} ${code}`)
        expect(other.reasons.map(({ distance }) => distance)).toEqual(
          found.reasons.map(({ distance }) => distance),
        )
        expect(byDistance(other.reasons).toSorted()).toEqual(byDistance(found.reasons).toSorted())
      },
    ),
    { numRuns: 500 },
  )
})

// A decline without a reason could not be sent: the law wants at least one.
test('a score below the average of those at the cut-off has a reason', () => {
  fc.assert(
    fc.property(card, ({ drawn, picks }) => {
      const applicant = readApplicant(picks)
      const { score, reasons } = foundReasons(readCard(drawn), applicant)
      const total = drawn.reduce((sum, { baseline }) => sum + baseline, 100)
      if (score < total - 1e-9) expect(reasons.length).toBeGreaterThan(0)
    }),
    { numRuns: 500 },
  )
})
