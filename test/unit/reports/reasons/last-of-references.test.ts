import { expect, test } from 'vitest'
import { LastOfReferences, referencesMax } from '../../../../src/reports/reasons/applicants.ts'

// 320 MiB of 250 bytes and four for each feature.
test.each([
  [20, 1_016_800],
  [1_000, 78_951],
])('a card of %i features takes %i references', (features, most) => {
  expect(referencesMax(features)).toBe(most)
})

test('a reference beyond the most is refused with what to change, a known one is not', () => {
  const features = 1_000_000
  const last = new LastOfReferences<null>(features)
  for (let n = 0; n < referencesMax(features); n++) last.add(`r${n}`, 0, null)
  expect(last.add('r0', 1, null).isLast).toBe(true)
  expect(() => last.add('new', 0, null)).toThrow(
    /more than 83 references, the most for a card of 1000000 features: choose a shorter one/,
  )
})
