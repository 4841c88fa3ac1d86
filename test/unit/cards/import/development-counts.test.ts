import { expect, test } from 'vitest'
import type { SourceBin } from '../../../../src/cards/import/build/card.ts'
import { makeCounts } from '../../../../src/cards/import/build/development-counts.ts'
import { importFile, SCALES } from '../../../support/cards/import-fixtures.ts'

const row = (counts: Partial<SourceBin>): SourceBin => ({
  path: 'row 1',
  label: 'a',
  points: 1,
  members: [],
  ...counts,
})

// The counts are the development sample that applicants are compared with.
test('bins keep the counts of the table of optbinning', () => {
  const { spec } = importFile('optbinning-detailed.csv', {
    scaling: SCALES.optbinning,
    unseen: 'missing',
    hasNoSpecials: true,
    splits: undefined,
  })
  // The first rows of the table: 63 applicants with 11 defaults, and 183 with 32.
  expect(spec?.features[0]?.name).toBe('savings_account_and_bonds')
  expect(spec?.features[0]?.bins.slice(0, 2)).toMatchObject([
    { baseline_count: 63, baseline_bads: 11 },
    { baseline_count: 183, baseline_bads: 32 },
  ])
})

test('a row that becomes several bins gives them no counts', () => {
  const one = row({ count: 5, bads: 2 })
  const two = row({ count: 7 })
  const counts = makeCounts([one, two, two])
  expect(counts(one)).toEqual({ baseline_count: 5, baseline_bads: 2 })
  expect(counts(two)).toEqual({})
  expect(makeCounts([row({})])(row({}))).toEqual({})
})

test('bads above their count are left out', () => {
  const wrong = row({ count: 5, bads: 6 })
  expect(makeCounts([wrong])(wrong)).toEqual({ baseline_count: 5 })
})

test('sums of weights are no counts', () => {
  const weighted = row({ count: 5.5, bads: 1.5 })
  expect(makeCounts([weighted])(weighted)).toEqual({})
})
