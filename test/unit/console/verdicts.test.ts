import { expect, test } from 'vitest'
import { listAnswers } from '../../../src/console/app/pages/performance/verdicts.ts'

const found = (n: number) =>
  ({
    n,
    gini: null,
    gini_low: null,
    gini_high: null,
    verdicts: {
      ranking: { verdict: 'insufficient_data', needed: null },
      power: { verdict: 'unknown', auc: null, development_auc: null, p_value: null, needed: null },
      probabilities: { verdict: 'unknown', grades: [] },
      challengers: [],
    },
  }) as unknown as Parameters<typeof listAnswers>[0]

// A report of a month without outcomes said of every card that it gives no probabilities.
test('why nothing is known of the probabilities is told apart', () => {
  const because = (n: number) =>
    listAnswers(found(n), String).find(({ question }) => question === 'Do its probabilities fit?')
      ?.because
  expect(because(0)).toBe('No good or bad outcome is known.')
  expect(because(5)).toBe('It gives no probabilities.')
})
