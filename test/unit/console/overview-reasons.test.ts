import { describe, expect, test } from 'vitest'
import { describeReasons } from '../../../src/console/app/pages/overview/reasons.ts'

type Row = Parameters<typeof describeReasons>[0]
type Period = NonNullable<Row['week']>

const WEEK = '2026-11-16T00:00:00.000Z'
const stability = {
  verdict: 'insufficient_data',
  psi: 0.2,
  cv_95: 0.03,
  since: null,
  moved: [],
  input_faults: [],
}
const period = (from: string, found: object) =>
  ({
    from,
    n: 150,
    baseline_id: 'bsl_1',
    stability: Object.assign({}, stability, found),
    missing: { verdict: 'as_expected', features: [] },
  }) as unknown as Period
const week = (found: object = {}) => period(WEEK, found)
const month = (found: object = {}) => period('2026-10-01T00:00:00.000Z', found)
const shift = (name: string, since: string | null, csi_psi: number) => {
  return { name, since, csi_psi, verdict: 'moderate_shift' }
}
const reasons = (row: Partial<Row>) =>
  describeReasons(
    Object.assign(
      { attention: 'watch', week: null, month: null, performance: null, labels: {}, alarm: null },
      row,
    ) as Row,
  )
const alarm = (found: object = {}) =>
  Object.assign({ is_on: true, verdict: 'major_shift', days: 7, psi: 0.37 }, found) as Row['alarm']

describe('why a deployment has its light', () => {
  // The page of stability gives each feature its own start and its own PSI; so does the overview.
  test('each feature that moved has its own start and PSI, and the score has its own', () => {
    const moved = [shift('income', WEEK, 0.2322), shift('age', '2026-11-09T00:00:00.000Z', 0.1996)]
    const found = { verdict: 'moderate_shift', since: '2026-11-09T00:00:00.000Z', moved }
    expect(reasons({ week: week(found) })).toBe(
      'Moved: Income since 16 Nov (0.2322) and Age since 9 Nov (0.1996); PSI of the score 0.2000.',
    )
  })

  // It said "since the week of 1 Oct", which is a Thursday.
  test('what moved in the month alone is said of the month', () => {
    const found = { verdict: 'moderate_shift', psi: 0.0539, moved: [shift('age', null, 0.1008)] }
    expect(reasons({ week: week(), month: month(found) })).toBe(
      'Moved in October 2026: Age (0.1008); PSI of the score 0.0539.',
    )
  })

  test('an alarm that gives the light is named, also beside a lesser shift', () => {
    const text = 'Alarm: major shift over the last 7 days (PSI of the score 0.3700).'
    expect(reasons({ week: week({ verdict: 'stable' }), alarm: alarm() })).toBe(text)
    const moderate = week({ verdict: 'moderate_shift' })
    expect(reasons({ week: moderate, alarm: alarm() })).toBe(`Scores moved (PSI 0.2000). ${text}`)
    const isOff = alarm({ is_on: false })
    expect(reasons({ week: moderate, alarm: isOff })).toBe('Scores moved (PSI 0.2000).')
  })

  test('nothing moved only where that was judged', () => {
    expect(reasons({ week: week(), month: month({ verdict: 'stable', psi: 0.01 }) })).toBe(
      'Nothing moved in October 2026 (PSI 0.0100; chance explains 0.0300).',
    )
    const performance = {
      verdicts: {
        ranking: { verdict: 'ranks' },
        power: { verdict: 'unknown' },
        probabilities: { verdict: 'fits', grades: [] },
      },
    } as unknown as Row['performance']
    expect(reasons({ attention: 'none', week: week(), performance })).toBe(
      'Too few applicants for a verdict: 150 applicants in the newest complete period. ' +
        'The scorecard tells good from bad.',
    )
  })

  test('without a development sample, applicants are not called too few', () => {
    const bare = Object.assign(week({ verdict: null, psi: null }), { baseline_id: null })
    expect(reasons({ attention: 'unknown', week: bare })).toBe(
      'There is no development sample to compare with.',
    )
  })
})
