import { count, NONE } from './format.ts'
import type { Performance } from './types.ts'

/** An answer to a question of whoever answers for a card, with the figures behind it. */
export interface PerformanceVerdict {
  readonly question: string
  /** The colour of the badge. */
  readonly kind: 'good' | 'shadow' | 'off' | 'plain'
  readonly answer: string
  readonly because: string
}

const CHANCE_MIN = 0.001

type Grade = Performance['calibration']['grades'][number]

export function decimals(value: number | null): string {
  return value === null ? NONE : value.toFixed(3)
}

/** A probability after the letter p. */
export function chance(p: number): string {
  return p < CHANCE_MIN ? `< ${CHANCE_MIN}` : `= ${p.toFixed(3)}`
}

/** An interval in words. */
export function between(
  low: number | null,
  high: number | null,
  show: (value: number) => string,
): string {
  return low === null || high === null ? 'no interval' : `${show(low)} … ${show(high)}`
}

/** Whether fewer were bad than a probability says, beyond chance. */
export function isTooHigh({ mean_pd: meanPd, bad_rate_high: high }: Grade): boolean {
  return meanPd !== null && high < meanPd
}

/** The answers that a report gives, each as sure as its interval. */
export function verdictsOf(found: Performance): PerformanceVerdict[] {
  return [rankingOf(found), ...fallOf(found), probabilitiesOf(found), ...challengersOf(found)]
}

function rankingOf({ gini, gini_low: low, gini_high: high }: Performance): PerformanceVerdict {
  const question = 'Does it tell good from bad?'
  if (gini === null) {
    const because = 'There must be good and bad outcomes.'
    return { question, kind: 'plain', answer: 'not known', because }
  }
  const because = `Gini ${decimals(gini)}, ${between(low, high, decimals)}.`
  if (low === null) return { question, kind: 'plain', answer: 'not known', because }
  if (low > 0) return { question, kind: 'good', answer: 'yes', because }
  return { question, kind: 'off', answer: 'not for sure', because }
}

const FALLEN_P = 0.05

function fallOf({ auc, development }: Performance): PerformanceVerdict[] {
  if (development === null || development.p_value === null) return []
  const isFallen = development.p_value <= FALLEN_P
  return [
    {
      question: 'Has it lost power since development?',
      kind: isFallen ? 'off' : 'good',
      answer: isFallen ? 'yes' : 'not for sure',
      because: `AUC ${decimals(auc)} after ${decimals(development.auc)}, p ${chance(development.p_value)}.`,
    },
  ]
}

function probabilitiesOf({ calibration: { grades } }: Performance): PerformanceVerdict {
  const question = 'Do its probabilities fit?'
  const known = grades.filter(({ light }) => light !== null)
  if (known.length === 0) {
    return { question, kind: 'plain', answer: 'not known', because: 'It gives no probabilities.' }
  }
  const named = (of: readonly Grade[]) =>
    of.map(({ grade }) => grade ?? 'without a grade').join(', ')
  const low = known.filter(({ light }) => light === 'red')
  const watched = known.filter(({ light }) => light === 'amber')
  const high = known.filter(isTooHigh)
  if (low.length > 0) {
    const because = `More were bad than expected in ${named(low)}.`
    return { question, kind: 'off', answer: 'too low', because }
  }
  if (watched.length > 0) {
    const because = `More were bad than expected, perhaps by chance, in ${named(watched)}.`
    return { question, kind: 'shadow', answer: 'watch', because }
  }
  if (high.length > 0) {
    const because = `Fewer were bad than expected in ${named(high)}.`
    return { question, kind: 'shadow', answer: 'too high', because }
  }
  return {
    question,
    kind: 'good',
    answer: 'yes',
    because: 'In every grade, as far as it is known.',
  }
}

function challengersOf({ paired }: Performance): PerformanceVerdict[] {
  if (paired.length === 0) return []
  const better = paired.filter(({ auc_difference_low: low }) => low !== null && low > 0)
  const question = 'Would a challenger be better?'
  if (better.length > 0) {
    const because = `${count(better.length)} of ${count(paired.length)} told good from bad better, beyond chance.`
    return [{ question, kind: 'shadow', answer: 'yes', because }]
  }
  const because = 'None told good from bad better, beyond chance.'
  return [{ question, kind: 'plain', answer: 'not for sure', because }]
}
