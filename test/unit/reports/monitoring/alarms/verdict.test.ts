import { expect, test } from 'vitest'
import type { Stability } from '../../../../../schemas/monitoring.ts'
import { makeEvaluation } from '../../../../../src/reports/monitoring/alarms/verdict.ts'
import type { Verdict } from '../../../../../src/reports/monitoring/statistics/population-stability.ts'

type Figures = readonly [verdict: Verdict | null, psi: number | null, pValue: number | null]

/** The parts of a report that an evaluation reads. */
function report(score: Figures, features: readonly Figures[], n = 1_000): Stability {
  const [verdict, psi, p_value] = score
  return {
    n,
    baseline: { id: 'bsl_1' },
    score: { verdict, psi, p_value, cv_95: 0.05 },
    features: features.map(([own, csi_psi, pValue], index) => ({
      name: `feature ${index}`,
      verdict: own,
      csi_psi,
      p_value: pValue,
      cv_95: 0.05,
      n,
      n_compared: n,
      n_expected: n,
    })),
  } as unknown as Stability
}

const STABLE: Figures = ['stable', 0.01, 0.5]

test('the verdict is the worst of the score and of the features that moved', () => {
  const shifted = report(STABLE, [STABLE, ['moderate_shift', 0.15, 1e-9]])
  expect(makeEvaluation(shifted, 0)).toMatchObject({ verdict: 'moderate_shift', psi: 0.01 })
  const major = report(['moderate_shift', 0.2, 1e-9], [['major_shift', 0.3, 1e-12], STABLE])
  expect(makeEvaluation(major, 0).verdict).toBe('major_shift')
  expect(makeEvaluation(report(['major_shift', 0.3, 1e-9], [STABLE]), 0).verdict).toBe(
    'major_shift',
  )
  expect(makeEvaluation(report(STABLE, [STABLE]), 0)).toMatchObject({
    verdict: 'stable',
    moved: [],
  })
})

// One of 20 features exceeds its own bound by chance: an alarm every day would be read by nobody.
test('a feature whose index chance explains among so many is not an alarm', () => {
  const lucky: Figures = ['moderate_shift', 0.11, 0.04]
  expect(makeEvaluation(report(STABLE, [lucky]), 0).verdict).toBe('moderate_shift')
  const many = [lucky, ...Array.from({ length: 19 }, () => STABLE)]
  expect(makeEvaluation(report(STABLE, many), 0)).toMatchObject({ verdict: 'stable', moved: [] })
})

test('features that moved are named, most moved first, 20 at most', () => {
  const many = Array.from(
    { length: 25 },
    (_, index): Figures => ['major_shift', 0.3 + index / 100, 1e-9],
  )
  const { moved } = makeEvaluation(report(STABLE, many), 0)
  expect(moved).toHaveLength(20)
  expect(moved[0]).toEqual({ name: 'feature 24', verdict: 'major_shift', csi_psi: 0.54 })
})

test('too few applicants are no verdict, and neither is a model without a sample', () => {
  const shifted = report(['major_shift', 0.4, 1e-9], [STABLE], 99)
  expect(makeEvaluation(shifted, 100)).toMatchObject({ verdict: 'insufficient_data', n: 99 })
  expect(makeEvaluation(shifted, 99).verdict).toBe('major_shift')
  const none: Figures = ['insufficient_data', 0.4, 0.2]
  expect(makeEvaluation(report(none, [none]), 0).verdict).toBe('insufficient_data')
  // One cell alone has no degrees of freedom: no number of applicants could move it.
  const constant = report(STABLE, [none, STABLE])
  const features = constant.features.map((one, index) => ({ ...one, cv_95: index }))
  expect(makeEvaluation({ ...constant, features }, 0).verdict).toBe('stable')
  const fixed = report(none, [none])
  const alone = fixed.features.map((one) => ({ ...one, cv_95: 0 }))
  expect(makeEvaluation({ ...fixed, features: alone }, 0).verdict).toBe('insufficient_data')
  const unsampled = { ...report([null, null, null], []), baseline: null }
  expect(makeEvaluation(unsampled, 0)).toMatchObject({ verdict: null, psi: null, moved: [] })
})

// A light that is green because nothing could be looked at is worse than none.
test('a deployment is stable only if its score and all its features could be judged', () => {
  const unjudged: Figures = ['insufficient_data', 3, 0]
  const few = makeEvaluation(report(unjudged, [STABLE, unjudged, unjudged]), 0)
  expect(few).toMatchObject({ verdict: 'insufficient_data', moved: [] })
  expect(few.basis).toMatchObject({ featuresJudged: 1, featuresUnjudged: 2 })
  expect(makeEvaluation(report(STABLE, [unjudged]), 0).verdict).toBe('insufficient_data')
  expect(makeEvaluation(report(unjudged, [STABLE]), 0).verdict).toBe('insufficient_data')
  const moved: Figures = ['major_shift', 0.4, 1e-9]
  expect(makeEvaluation(report(unjudged, [moved, unjudged]), 0).verdict).toBe('major_shift')
  // A sample without scores has no index of them that could be judged.
  expect(makeEvaluation(report([null, null, null], [STABLE]), 0).verdict).toBe('stable')
})

// An index leaves out what the sample does not count, so that a broken feed looks stable.
test('a feature with many values that the sample does not count is named, and never stable', () => {
  const whole = report(STABLE, [STABLE, STABLE], 100)
  const comparing = (...compared: readonly number[]) => ({
    ...whole,
    features: whole.features.map((one, at) => ({ ...one, n_compared: compared[at] ?? 0 })),
  })
  const faulty = makeEvaluation(comparing(95, 80), 0)
  expect(faulty.verdict).toBe('insufficient_data')
  expect(faulty.basis.inputFaults).toEqual([
    { name: 'feature 1', unknown_share: 0.2 },
    { name: 'feature 0', unknown_share: 0.05 },
  ])
  expect(makeEvaluation(comparing(96, 100), 0)).toMatchObject({
    verdict: 'stable',
    basis: { inputFaults: [] },
  })
})
