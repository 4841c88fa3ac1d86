import { expect, test } from 'vitest'
import { checkSpec, checkStoredSpec } from '../../../src/engine/index.ts'
import { card, categorical, numeric } from '../../support/cards/cards.ts'

const age = numeric('age', [['(-Infinity, Infinity)', 1]])
const job = categorical('job', [
  ['clerk', 4],
  ['Missing', -7],
])
const specWith = (ofAge: unknown, ofJob: unknown) =>
  card([
    { ...age, baseline_outcomes: ofAge } as typeof age,
    { ...job, baseline_outcomes: ofJob } as typeof job,
  ])
const faultsOf = (ofAge: unknown, ofJob: unknown) => {
  const check = checkSpec(specWith(ofAge, ofJob))
  return check.ok ? [] : check.faults.map(({ path }) => path)
}

test('counts of outcomes beside the bins are accepted, and unknown ones may be left out', () => {
  expect(faultsOf({ missing: 3, no_bin: 0, not_a_number: null }, { unseen_category: 2.5 })).toEqual(
    [],
  )
  expect(faultsOf({ unseen_category: 0 }, {})).toEqual([])
})

test('every fault of the counts is reported with its path', () => {
  expect(
    faultsOf({ missing: -1, unseen_category: 1, other: 1, no_bin: '3' }, { missing: 0 }),
  ).toEqual([
    'features[0].baseline_outcomes.missing',
    'features[0].baseline_outcomes.unseen_category',
    'features[0].baseline_outcomes.other',
    'features[0].baseline_outcomes.no_bin',
    'features[1].baseline_outcomes.missing',
  ])
  expect(faultsOf([1], null)).toEqual([
    'features[0].baseline_outcomes',
    'features[1].baseline_outcomes',
  ])
})

// Before, the property was kept unread: such a model must go on scoring.
test('a registered model keeps its specification whatever they say', () => {
  expect(checkStoredSpec(specWith('many', 3)).ok).toBe(true)
})
