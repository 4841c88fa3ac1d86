import type { Schemas, Verdict } from '../../api/types.ts'
import type { FeatureName } from '../../ui/card.ts'
import { monthName, shortDay } from '../../ui/dates.ts'
import { counted, index, percent } from '../../ui/figures.ts'
import { VERDICTS } from '../../ui/light-kind.ts'
import { firstInWords, inWords, plainName, sentence } from '../../ui/names.ts'
import { isShift, listMoved, NO_SAMPLE } from '../stability/conclusion.ts'

type Deployment = Schemas['OverviewDeployment']
type Period = Schemas['PeriodVerdicts']
type Alarm = NonNullable<Deployment['alarm']>

const NAMED_MAX = 2

/** Says in sentences why a deployment has its light: the worst first. */
export function describeReasons(deployment: Deployment): string {
  return listReasons(deployment)
    .map((reason) => `${sentence(reason)}.`)
    .join(' ')
}

function listReasons(deployment: Deployment): readonly string[] {
  const { week, month, performance, labels, alarm } = deployment
  const name = (feature: string) => labels[feature] ?? plainName(feature)
  const moved = [week, month].find((period) => isShift(readVerdict(period))) ?? null
  const missing = week?.missing.verdict === 'more_missing' ? week : month
  const where = (period: Period | null) => (period === month ? inMonth(month) : '')
  const found = [
    ...describeShift(moved, where(moved), name),
    ...(isAlarmWorse(alarm, readVerdict(moved)) && (week ?? month) ? [describeAlarm(alarm)] : []),
    ...describeMissing(missing, where(missing), name),
    ...describeOutcomes(performance),
  ]
  if (found.length > 0) return found
  if (week === null && month === null) return [beingJudged(deployment)]
  if (week?.stability.verdict === 'stable') return [describeStability(week, '')]
  if (month?.stability.verdict === 'stable') return [describeStability(month, inMonth(month))]
  return describeUnknown(deployment)
}

function readVerdict(period: Period | null) {
  return period?.stability.verdict ?? null
}

function inMonth(month: Period | null): string {
  return month === null ? '' : ` in ${monthName(month.from)}`
}

/** An alarm has days and levels of its own, and gives the light where it is the worse verdict. */
function isAlarmWorse(alarm: Alarm | null, told: Verdict | null): alarm is Alarm {
  const { is_on: isOn, verdict } = alarm ?? { is_on: false, verdict: null }
  return isOn && isShift(verdict) && told !== verdict && told !== 'major_shift'
}

/** The newest period that moved: the month only where the week did not. */
function describeShift(period: Period | null, where: string, name: FeatureName): readonly string[] {
  if (period === null) return []
  const { moved, since, psi, input_faults: faults } = period.stability
  const start = since === null ? '' : ` since ${shortDay(since)}`
  const score = psi === null ? '' : `; PSI of the score ${index(psi)}`
  const unknown = faults.map(({ name: feature, unknown_share }) => {
    return `${name(feature)} is of an unknown kind for ${percent(unknown_share)}`
  })
  return [
    moved.length === 0
      ? `Scores moved${where}${start} (PSI ${index(psi)})`
      : `Moved${where}: ${listMoved(moved, name, NAMED_MAX)}${score}`,
    ...(faults.length > 0 ? [firstInWords(unknown, NAMED_MAX)] : []),
  ]
}

function describeMissing(
  period: Period | null,
  where: string,
  nameFeature: FeatureName,
): readonly string[] {
  if (period?.missing.verdict !== 'more_missing') return []
  return period.missing.features.slice(0, NAMED_MAX).map(({ name, share, since }) => {
    const start = since === null ? where : ` since ${shortDay(since)}`
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
  return `${again}. ${describeAlarm(alarm)}`
}

function describeAlarm({ verdict, days, psi }: Alarm): string {
  const word = verdict === null ? 'no verdict' : VERDICTS[verdict][1].toLowerCase()
  return `Alarm: ${word} over the last ${counted(days, 'day')} (PSI of the score ${index(psi)})`
}

/** Says why nothing is known of shifts, and what is known of the outcomes all the same. */
function describeUnknown({ week, month, performance }: Deployment): readonly string[] {
  const n = Math.max(week?.n ?? 0, month?.n ?? 0)
  const few = counted(n, 'applicant')
  const why =
    n === 0
      ? 'No applicants in the newest complete week and month'
      : week?.baseline_id === null || month?.baseline_id === null
        ? NO_SAMPLE
        : `Too few applicants for a verdict: ${few} in the newest complete period`
  const isRanking = performance?.verdicts.ranking.verdict === 'ranks'
  return [why, ...(isRanking ? ['The scorecard tells good from bad'] : [])]
}

function describeStability({ stability: { psi, cv_95 } }: Period, where: string): string {
  return `Nothing moved${where} (PSI ${index(psi)}; chance explains ${index(cv_95)})`
}
