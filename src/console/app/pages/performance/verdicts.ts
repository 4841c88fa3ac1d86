import type { Schemas } from '../../api/types.ts'
import { index, percent, power, signed, whole } from '../../ui/figures.ts'
import type { LightKind } from '../../ui/light-kind.ts'
import { inWords } from '../../ui/names.ts'

type Performance = Schemas['Performance']
type Needed = Schemas['NeededOutcomes'] | null

/** An answer to a question of whoever answers for a card, with the figures behind it. */
export interface Answer {
  readonly question: string
  readonly kind: LightKind
  readonly answer: string
  readonly because: string
}

export function listPowers(found: Performance): [name: string, value: string, note: string][] {
  return [
    ['Gini', power(found.gini), between(found.gini_low, found.gini_high, power)],
    ['AUC', power(found.auc), between(found.auc_low, found.auc_high, power)],
    ['KS', power(found.ks), between(found.ks_low, found.ks_high, power)],
    ['Bad', whole(found.bad), `${percent(found.bad / found.n)} of ${whole(found.n)}`],
  ]
}

export function between(
  low: number | null,
  high: number | null,
  show: (value: number) => string,
): string {
  return low === null || high === null ? 'no interval' : `${show(low)} … ${show(high)}`
}

/** The difference of two AUC, with its interval if there is one. */
export function writeDifference(
  found: Pick<
    Schemas['ChallengerVerdict'],
    'auc_difference' | 'auc_difference_low' | 'auc_difference_high'
  >,
): string {
  const { auc_difference: difference, auc_difference_low: low, auc_difference_high: high } = found
  const text = signed(difference, power)
  if (low === null || high === null) return text
  return `${text} (${signed(low, power)} … ${signed(high, power)})`
}

export function listAnswers(
  found: Performance,
  modelName: (id: string) => string,
): readonly Answer[] {
  return [
    rankingAnswer(found),
    powerAnswer(found),
    probabilityAnswer(found),
    ...found.verdicts.challengers.map((one) => challengerAnswer(one, modelName(one.model_id))),
  ]
}

function needed(found: Needed): string {
  if (found === null) return ''
  return ` ${whole(found.n)} more outcomes are needed, ${whole(found.bad)} of them bad.`
}

const NOT_YET = { kind: 'unknown', answer: 'Not enough yet' } as const

const RANKING = {
  ranks: { kind: 'good', answer: 'Yes' },
  ranks_backwards: { kind: 'act', answer: 'The wrong way round' },
  insufficient_data: NOT_YET,
} as const

function rankingAnswer({ gini, gini_low: low, gini_high: high, verdicts }: Performance): Answer {
  const { verdict, needed: missing } = verdicts.ranking
  return {
    question: 'Does it tell good from bad?',
    ...RANKING[verdict],
    because: `Gini ${power(gini)} (${between(low, high, power)}).${needed(missing)}`,
  }
}

const POWER = {
  held: { kind: 'good', answer: 'No' },
  lost_power: { kind: 'act', answer: 'Yes' },
  insufficient_data: NOT_YET,
  unknown: { kind: 'unknown', answer: 'Not known' },
} as const

function powerAnswer({ verdicts: { power: found } }: Performance): Answer {
  const { verdict, auc, development_auc: then, p_value: p } = found
  const tested = p === null ? '' : `, p ${index(p)}`
  const because =
    verdict === 'unknown'
      ? 'The AUC at development was not given.'
      : `AUC ${power(auc)} after ${power(then)} at development${tested}.${needed(found.needed)}`
  return { question: 'Has it lost power since development?', ...POWER[verdict], because }
}

const PROBABILITIES = {
  fits: { kind: 'good', answer: 'Yes', text: 'In every grade, as far as it is known' },
  too_low: { kind: 'act', answer: 'Too low', text: 'More were bad than expected' },
  watch: { kind: 'watch', answer: 'Watch', text: 'More were bad, perhaps by chance,' },
  too_high: { kind: 'watch', answer: 'Too high', text: 'Fewer were bad than expected' },
  unknown: { kind: 'unknown', answer: 'Not known', text: 'It gives no probabilities' },
} as const

function probabilityAnswer({ n, verdicts: { probabilities } }: Performance): Answer {
  const { text: known, ...answer } = PROBABILITIES[probabilities.verdict]
  const text = n === 0 ? 'No good or bad outcome is known' : known
  const grades = probabilities.grades.map((grade) => grade ?? 'without a grade').toSorted()
  const where = grades.length === 0 ? '.' : ` in ${inWords(grades)}.`
  return { question: 'Do its probabilities fit?', ...answer, because: `${text}${where}` }
}

/** Names of the verdicts on a challenger. */
export const CHALLENGER = {
  better: { kind: 'good', answer: 'Better' },
  worse: { kind: 'act', answer: 'Worse' },
  no_difference: { kind: 'unknown', answer: 'No difference that matters' },
  insufficient_data: NOT_YET,
} as const

function challengerAnswer(found: Schemas['ChallengerVerdict'], name: string): Answer {
  const { n, auc, champion_auc: other, auc_difference_low: low, auc_difference_high: high } = found
  const difference = between(low, high, (value) => signed(value, power))
  const figures = `AUC ${power(auc)} against ${power(other)} on the same ${whole(n)}; difference ${difference}.`
  const because = `${n === 0 ? 'No outcomes of both yet.' : figures}${needed(found.needed)}`
  return { question: `Is ${name} better?`, ...CHALLENGER[found.verdict], because }
}
