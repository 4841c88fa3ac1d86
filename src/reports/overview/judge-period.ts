import type { Static } from '@sinclair/typebox'
import type { Stability } from '../../../schemas/monitoring.ts'
import type { PeriodVerdicts } from '../../../schemas/overview.ts'
import { makeEvaluation } from '../monitoring/alarms/verdict.ts'
import { discoveries } from '../monitoring/statistics/significance.ts'
import { normalAbove } from '../performance/statistics/special-functions.ts'

export type Period = Static<typeof PeriodVerdicts>

/** Among the features that are named, so many may be named by chance. */
const FALSE_DISCOVERY_RATE = 0.05
/** Fewer missing values in addition do not matter. */
const MISSING_MORE_MIN = 0.01
const CELL_COUNT_MIN = 5
const MOVED: readonly unknown[] = ['moderate_shift', 'major_shift']

/**
 * Judges a period as an alarm judges its own, with the weeks before it, of which the newest is the
 * last: they tell since when.
 *
 * @param stability with `from` and `to`
 */
export function judgePeriod(stability: Stability, weeks: readonly Period[] = []): Period {
  const evaluated = makeEvaluation(stability, 0)
  const { score, baseline, n } = stability
  const isMoved = (period: Period) => MOVED.includes(period.stability.verdict)
  const moved = evaluated.moved.flatMap(({ name, verdict, csi_psi }) => {
    const found = stability.features.find((feature) => feature.name === name)
    if (found === undefined) return []
    const { csi_points, cv_95, p_value } = found
    const wasMoved = (period: Period) => period.stability.moved.some((one) => one.name === name)
    const since = sinceWhen(weeks, wasMoved)
    return [{ name, verdict, csi_psi, csi_points, cv_95, p_value, since }]
  })
  return {
    from: stability.from ?? '',
    to: stability.to ?? '',
    model_id: stability.model_id,
    model_version: stability.model_version,
    baseline_id: baseline?.id ?? null,
    n,
    mean_score: score.mean,
    mean_expected: score.mean_expected,
    stability: {
      verdict: evaluated.verdict,
      psi: score.psi,
      cv_95: score.cv_95,
      p_value: score.p_value,
      since: sinceWhen(weeks, isMoved),
      moved,
      input_faults: [...evaluated.basis.inputFaults],
    },
    missing: readMissing(stability, weeks),
  }
}

/** Names of the features that verdicts of a period name. */
export function namedFeatures({ stability, missing }: Period): string[] {
  const { moved, input_faults: faults } = stability
  return [...moved, ...faults, ...missing.features].map(({ name }) => name)
}

/** The start of the newest weeks in a row of which something holds; null if not of the last. */
function sinceWhen(weeks: readonly Period[], holds: (week: Period) => boolean): string | null {
  let since: string | null = null
  for (const week of weeks.toReversed()) {
    if (!holds(week)) break
    since = week.from
  }
  return since
}

/** Features with more missing values than the development sample had, by a test on one side. */
function readMissing({ features, n }: Stability, weeks: readonly Period[]): Period['missing'] {
  const tested = features.flatMap(({ name, missing_share: share, cells, n_expected: expected }) => {
    const cell = cells.find(({ outcome }) => outcome === 'missing')
    if (share === null || !expected || cell?.expected == null) return []
    const expectedShare = cell.expected / expected
    const pooled = (share * n + cell.expected) / (n + expected)
    const se = Math.sqrt(pooled * (1 - pooled) * (1 / n + 1 / expected))
    const isJudged = n >= 2 * CELL_COUNT_MIN
    const pValue = se === 0 ? 1 : normalAbove((share - expectedShare) / se)
    return isJudged ? [{ name, share, expected_share: expectedShare, p_value: pValue }] : []
  })
  if (features.every(({ n_expected }) => n_expected === null))
    return { verdict: null, features: [] }
  if (tested.length === 0) return { verdict: 'insufficient_data', features: [] }
  const isFound = discoveries(
    tested.map(({ p_value }) => p_value),
    FALSE_DISCOVERY_RATE,
  )
  const found = tested
    .filter((one, index) => isFound[index] && one.share - one.expected_share >= MISSING_MORE_MIN)
    .sort((a, b) => b.share - b.expected_share - (a.share - a.expected_share))
    .map((one) => ({
      ...one,
      since: sinceWhen(weeks, ({ missing }) => missing.features.some((f) => f.name === one.name)),
    }))
  return { verdict: found.length > 0 ? 'more_missing' : 'as_expected', features: found }
}
