import type { Schemas } from '../../api/types.ts'
import type { FeatureName } from '../../ui/card.ts'
import { shortDay } from '../../ui/dates.ts'
import { counted, index, percent } from '../../ui/figures.ts'
import { VERDICTS } from '../../ui/light.tsx'
import { firstInWords, inWords, plainName, sentence } from '../../ui/names.ts'

type Deployment = Schemas['OverviewDeployment']
type Period = Schemas['PeriodVerdicts']

const NAMED_MAX = 2

/** Says in sentences why a deployment has its light: the worst first. */
export function describeReasons(deployment: Deployment): string {
  return listReasons(deployment)
    .map((reason) => `${sentence(reason)}.`)
    .join(' ')
}

function listReasons(deployment: Deployment): readonly string[] {
  const { week, month, performance, labels } = deployment
  const name = (feature: string) => labels[feature] ?? plainName(feature)
  const found = [
    ...describeShift(week, month, name),
    ...describeMissing(week?.missing.verdict === 'more_missing' ? week : month, name),
    ...describeOutcomes(performance),
  ]
  if (found.length > 0) return found
  if (week === null && month === null) return [beingJudged(deployment)]
  return [
    deployment.attention === 'unknown'
      ? describeUnknown(deployment)
      : describeStability(week ?? month),
  ]
}

/** The newest period that moved; the month only where the week did not. */
function describeShift(
  week: Period | null,
  month: Period | null,
  nameFeature: FeatureName,
): readonly string[] {
  const isMoved = (period: Period | null) =>
    period?.stability.verdict === 'major_shift' || period?.stability.verdict === 'moderate_shift'
  const period = isMoved(week) ? week : isMoved(month) ? month : null
  if (period === null) return []
  const { moved, since, psi, input_faults: faults } = period.stability
  const names = moved.map(({ name }) => nameFeature(name))
  const what = names.length === 0 ? 'Scores' : firstInWords(names, NAMED_MAX)
  const start = since ?? period.from
  const unknown = faults.map(({ name, unknown_share }) => {
    return `${nameFeature(name)} is of an unknown kind for ${percent(unknown_share)}`
  })
  return [
    `${what} moved since the week of ${shortDay(start)} (PSI ${index(psi)})`,
    ...(faults.length > 0 ? [firstInWords(unknown, NAMED_MAX)] : []),
  ]
}

function describeMissing(period: Period | null, nameFeature: FeatureName): readonly string[] {
  if (period?.missing.verdict !== 'more_missing') return []
  return period.missing.features.slice(0, NAMED_MAX).map(({ name, share, since }) => {
    const start = since === null ? '' : ` since the week of ${shortDay(since)}`
    return `${nameFeature(name)} missing for ${percent(share)}${start}`
  })
}

const POWER: Readonly<Record<string, string>> = {
  lost_power: 'The scorecard separates good and bad worse than in development',
}

const PROBABILITIES: Readonly<Record<string, string>> = {
  too_low: 'More bads than expected',
  too_high: 'Fewer bads than expected',
  watch: 'Bads are off the expected',
}

function describeOutcomes(known: Deployment['performance']): readonly string[] {
  if (known === null) return []
  const { ranking, power, probabilities } = known.verdicts
  const sentences: string[] = []
  if (ranking.verdict === 'ranks_backwards') {
    sentences.push('The scorecard ranks backwards: good scores have more bads')
  }
  const lost = POWER[power.verdict]
  if (lost !== undefined) sentences.push(lost)
  const off = PROBABILITIES[probabilities.verdict]
  if (off !== undefined) {
    const grades = probabilities.grades.filter((grade) => grade !== null)
    const where = grades.length === 0 ? '' : ` in ${inWords(grades.toSorted())}`
    sentences.push(off + where)
  }
  return sentences
}

/** Without facts there is the alarm, which has a rhythm of its own. */
function beingJudged({ alarm }: Deployment): string {
  const again = 'Being judged again, with the model and cut-off of now'
  if (alarm === null || alarm.verdict === null) return again
  return `${again}. Alarm: ${VERDICTS[alarm.verdict][1].toLowerCase()} (PSI ${index(alarm.psi)})`
}

function describeUnknown({ week, month }: Deployment): string {
  const n = Math.max(week?.n ?? 0, month?.n ?? 0)
  return n === 0
    ? 'No applicants in the newest complete week and month'
    : `Too few applicants for a verdict: ${counted(n, 'applicant')} in the newest complete period`
}

function describeStability(period: Period | null): string {
  if (period === null) return 'Nothing moved'
  return `Nothing moved (PSI ${index(period.stability.psi)}; chance explains ${index(period.stability.cv_95)})`
}
