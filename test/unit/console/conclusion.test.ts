import { expect, test } from 'vitest'
import {
  conclude,
  featureSince,
  unusualShare,
  upTo,
  withGaps,
} from '../../../src/console/app/pages/stability/conclusion.ts'

type Stability = Parameters<typeof conclude>[0]

const feature = {
  name: 'age',
  verdict: 'major_shift',
  csi_psi: 0.3343,
  missing_share: 0.087,
  unseen_share: 0,
  no_bin_share: null,
  not_a_number_share: 0,
}
const few = {
  n: 150,
  baseline: {},
  score: { verdict: 'insufficient_data', psi: 0.221, cv_95: 0.2256, bands: [{}] },
  features: [feature],
} as unknown as Stability

// The page said "Major shift" above "too few for a verdict", and nothing of what had moved.
test('what moved is named also where applicants are too few for a verdict on the score', () => {
  expect(conclude(few, [], (name) => name)).toBe(
    '150 applicants: too few for a verdict on the score. Moved: age (0.3343). ' +
      'Missing or in no bin: age (8.7 %).',
  )
})

test('without applicants, the share of missing values is unknown, not 0', () => {
  const none = { missing_share: null, unseen_share: null }
  expect(unusualShare(none as Parameters<typeof unusualShare>[0])).toBeNull()
})

// The series leaves intervals without scores out; a line across them would be of nobody.
test('a curve is interrupted where a series has an outage', () => {
  const point = (from: string, to: string) => ({ from, to, n: 5, score: { psi: 0.1 } })
  const points = [
    point('2026-10-05', '2026-10-12'),
    point('2026-10-12', '2026-10-19'),
    point('2026-11-02', '2026-11-09'),
  ]
  const drawn = withGaps(points as unknown as Parameters<typeof withGaps>[0])
  expect(drawn.map(({ from, n, score }) => [from, n, score.psi])).toEqual([
    ['2026-10-05', 5, 0.1],
    ['2026-10-12', 5, 0.1],
    ['2026-10-19', 0, null],
    ['2026-11-02', 5, 0.1],
  ])
})

// Calm days of the week under way took the start away, which the overview still told.
test('since when a feature has moved is told as of the end of the period', () => {
  const point = (from: string, verdict: string) => ({ from, features: [{ name: 'age', verdict }] })
  const points = [
    point('2026-11-02', 'stable'),
    point('2026-11-09', 'moderate_shift'),
    point('2026-11-16', 'major_shift'),
    point('2026-11-23', 'stable'),
  ] as unknown as Parameters<typeof upTo>[0]
  const since = (to: string | null) =>
    featureSince(upTo(points, { to } as unknown as Stability), 'age')
  expect(since('2026-11-23')).toBe('2026-11-09')
  expect(since(null)).toBeNull()
})
