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
const findFaults = (ofAge: unknown, ofJob: unknown) => {
  const check = checkSpec(specWith(ofAge, ofJob))
  return check.ok ? [] : check.faults.map(({ path }) => path)
}

test('counts of outcomes beside the bins are accepted, and unknown ones may be left out', () => {
  expect(findFaults({ missing: 3, no_bin: 0, not_a_number: null }, { unseen_category: 2 })).toEqual(
    [],
  )
  expect(findFaults({ unseen_category: 0 }, {})).toEqual([])
})

test('every fault of the counts is reported with its path', () => {
  expect(
    findFaults({ missing: -1, unseen_category: 1, other: 1, no_bin: '3' }, { missing: 0 }),
  ).toEqual([
    'features[0].baseline_outcomes.missing',
    'features[0].baseline_outcomes.unseen_category',
    'features[0].baseline_outcomes.other',
    'features[0].baseline_outcomes.no_bin',
    'features[1].baseline_outcomes.missing',
  ])
  expect(findFaults([1], null)).toEqual([
    'features[0].baseline_outcomes',
    'features[1].baseline_outcomes',
  ])
})

const ODD_COUNTS = [1.5, 1e300, 2 ** 53, -1, '3', null]
const counted = (counts: object, rest: object = {}) => {
  const bins = age.bins.map((bin) => ({ ...bin, ...counts }))
  return { ...card([{ ...age, bins } as typeof age, job]), ...rest }
}
const REASONS = { reasons: { version: 1, method: 'max' } }

test.each(ODD_COUNTS)('a count of %j is refused where it has an effect', (odd) => {
  if (odd !== null) expect(findFaults({ missing: odd }, {})).toHaveLength(1)
  const path = 'features[0].bins[0].baseline_count'
  expect(checkSpec(counted({ baseline_count: odd }, REASONS))).toMatchObject({
    ok: false,
    faults: [{ path }],
  })
  expect(checkSpec(counted({ baseline_count: 9, baseline_bads: odd }, REASONS))).toMatchObject({
    ok: false,
    faults: [{ path: 'features[0].bins[0].baseline_bads' }],
  })
})

test.each(ODD_COUNTS)('a count of %j is told where it has none', (odd) => {
  const check = checkSpec(counted({ baseline_count: odd }))
  const warnings = check.ok ? check.warnings : []
  expect(warnings.map(({ path }) => path)).toContain('features[0].bins[0].baseline_count')
})

test('counts whose sum is none are refused, and told where they have no effect', () => {
  const one = numeric('one', [
    ['(-Infinity, 0]', 1],
    ['(0, Infinity)', 2],
  ])
  const bins = one.bins.map((bin) => ({ ...bin, baseline_count: 2 ** 53 - 1 }))
  const spec = card([{ ...one, bins } as typeof one])
  expect(checkSpec({ ...spec, ...REASONS })).toMatchObject({
    ok: false,
    faults: [{ path: 'features[0].bins' }],
  })
  const check = checkSpec(spec)
  expect(check.ok && check.warnings.map(({ path }) => path)).toContain('features[0].bins')
})

// Before, the property was kept unread: such a model must go on scoring.
test('a registered model keeps its specification whatever they say', () => {
  expect(checkStoredSpec(specWith('many', 3)).ok).toBe(true)
})
