import { DEPLOYMENT_SLUG, EXAMPLE_IDS } from './examples.ts'
import type { OperationDoc } from './operation-doc.ts'
import { EXAMPLE_DEFINITION_ID } from './outcomes.ts'

export const NOTHING = {
  definition: EXAMPLE_DEFINITION_ID,
  model_id: EXAMPLE_IDS.champion,
  as_known_at: null,
  n: 0,
  good: 0,
  bad: 0,
  coverage: {
    scored: 0,
    approved: 0,
    booked: 0,
    mature: 0,
    matched: 0,
    good: 0,
    bad: 0,
    indeterminate: 0,
    excluded: 0,
  },
  auc: null,
  auc_se: null,
  auc_low: null,
  auc_high: null,
  gini: null,
  gini_low: null,
  gini_high: null,
  ks: null,
  ks_score: null,
  ks_low: null,
  ks_high: null,
  ks_interval: null,
  brier: null,
  spiegelhalter: null,
  development: null,
  gains: [],
  calibration: { grades: [], bands: [], hosmer_lemeshow: null },
  features: [
    { name: 'age', order: { spearman: null, inversions: [] }, bins: [] },
    { name: 'purpose', order: { spearman: null, inversions: [] }, bins: [] },
  ],
  paired: [],
  verdicts: {
    margin: 0.01,
    ranking: { verdict: 'insufficient_data', needed: { n: 40, bad: 20 } },
    power: {
      verdict: 'unknown',
      needed: null,
      development_auc: null,
      auc: null,
      p_value: null,
    },
    probabilities: { verdict: 'unknown', grades: [] },
    challengers: [],
  },
  expected: {
    method: 'cbpe',
    n: 0,
    expected_bads: 0,
    auc: null,
    assumes: 'the probabilities are calibrated: a change of the relation to outcomes stays unseen',
  },
}

export const PERFORMANCE_DOCS = {
  'performance.get': {
    tag: 'Outcomes',
    summary: 'Measure how good the scores were',
    description:
      'Discrimination, gains, calibration by grade, band and bin, and each challenger against the model on the same applicants. All current good and bad outcomes of the definition count; maturity filters nothing and is told as coverage. `as_known_at` gives a past report again. Rejected applicants have no outcome, and none is invented. With `development_auc`, or with one that `PUT /v1/models/{id}/baseline` has kept with the model, `development` tests whether the AUC has fallen below that of the development sample. `verdicts` answer each question once: whether the scores rank, whether the card has lost power, whether its probabilities fit, and for each active challenger whether it is `better`, `worse`, without a difference that matters (`margin`), or not known yet, with how many outcomes are needed. A report covers at most a million applicants, and one runs at a time.',
    params: { slug: DEPLOYMENT_SLUG },
    query: { definition: EXAMPLE_DEFINITION_ID },
    errors: ['deployment_not_found', 'definition_not_found', 'model_not_found'],
    success: {
      description: 'The figures; the example shows a deployment without scores',
      example: NOTHING,
    },
  },
  'performance.vintages': {
    tag: 'Outcomes',
    summary: 'Follow accounts by month of booking',
    description:
      'For each month of booking the share of accounts that were bad so many calendar months after it, among those that were observed so long, with counts and interval. Above 100,000 values the answer is 400.',
    params: { slug: DEPLOYMENT_SLUG },
    query: { definition: EXAMPLE_DEFINITION_ID },
    errors: ['deployment_not_found', 'definition_not_found'],
    success: {
      description: 'The vintages; the example shows a deployment without outcomes',
      example: { definition: EXAMPLE_DEFINITION_ID, vintages: [] },
    },
  },
} as const satisfies Record<string, OperationDoc>
