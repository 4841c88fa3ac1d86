import { DEPLOYMENT_SLUG, EXAMPLE_IDS, EXAMPLE_TIME } from './examples.ts'
import type { OperationDoc } from './operation-doc.ts'

const BASELINE_ID = 'bsl_0VLGx5TzWm8PdQa2KfRj7n'
const NO_CELL = {
  outcome: 'matched',
  expected: null,
  expected_share: null,
  actual: 0,
  actual_share: null,
  psi: null,
  points_part: null,
} as const
const ALL_TIME = { from: null, to: null, dedupe: 'last' } as const
const NO_BASIS = {
  ...ALL_TIME,
  zero_fill: '0.5',
  watch: 0.1,
  act: 0.25,
  population: 'all',
  formula_version: 1,
  baseline: null,
} as const
const NO_FEATURE = {
  n: 0,
  n_compared: 0,
  n_expected: null,
  csi_psi: null,
  csi_points: null,
  zero_bins: null,
  cv_95: null,
  p_value: null,
  verdict: null,
  missing_share: null,
  unseen_share: null,
  no_bin_share: null,
  not_a_number_share: null,
} as const
const NO_GROUP = { n: 0, share: null, mean_pd: null, expected_bads: 0 } as const
const NO_SWAP = {
  n: 0,
  share: null,
  mean_pd_champion: null,
  mean_pd_challenger: null,
  expected_bads_champion: 0,
  expected_bads_challenger: 0,
} as const

export const MONITORING_DOCS = {
  'models.baseline': {
    tag: 'Models',
    summary: 'Set the development sample of a model',
    description:
      "Stability compares applicants with it. It is made of a period of a deployment's scores, or of counts. It replaces the baseline before it; answers name the baseline that they used.",
    params: { id: { description: 'Id of a model', example: EXAMPLE_IDS.champion } },
    errors: ['model_not_found', 'deployment_not_found', 'invalid_baseline'],
    request: {
      Counts: {
        counts: {
          features: {
            age: { bins: [400, 580, 20], no_bin: 0, not_a_number: 0 },
            purpose: { bins: [930, 70], unseen_category: 0 },
          },
          score_bands: [
            { min: null, max: 480, n: 410 },
            { min: 480, max: null, n: 590 },
          ],
        },
      },
    },
    success: {
      description: 'The baseline that is in force now',
      example: {
        id: BASELINE_ID,
        model_id: EXAMPLE_IDS.champion,
        origin: 'counts',
        n: 1000,
        mean_score: 483.94,
        development_auc: null,
        created_at: EXAMPLE_TIME,
      },
    },
  },
  'monitoring.stability': {
    tag: 'Stability',
    summary: 'Compare applicants with the development sample',
    description:
      'The population stability index of the score, and for each feature `csi_psi`, the index over its bins, and `csi_points`, the points that the average score gained or lost by it. `csi_points` of all features add up to the difference of the mean scores. Each index stands with `cv_95`, which chance alone exceeds in one of 20 samples of this size. Without a baseline the indices are null. A key sees only deployments of its environment.',
    params: { slug: DEPLOYMENT_SLUG },
    errors: ['deployment_not_found', 'model_not_found'],
    success: {
      description:
        'The comparison; the example shows a model without a baseline and without scores',
      example: {
        deployment_id: EXAMPLE_IDS.deployment,
        model_id: EXAMPLE_IDS.champion,
        model_version: '1.0.0',
        ...NO_BASIS,
        n: 0,
        score: {
          n: 0,
          n_expected: null,
          mean: null,
          mean_expected: null,
          psi: null,
          zero_bins: null,
          cv_95: null,
          p_value: null,
          verdict: null,
          bands: [],
        },
        features: [
          {
            ...NO_FEATURE,
            name: 'age',
            cells: [
              { ...NO_CELL, bin: { index: 0, range: '(-Infinity, 25]' }, points: -12 },
              { ...NO_CELL, bin: { index: 1, range: '(25, Infinity)' }, points: 9.5 },
              { ...NO_CELL, outcome: 'missing', bin: { index: 2, range: 'Missing' }, points: 0 },
              { ...NO_CELL, outcome: 'no_bin', bin: null, points: 0 },
              { ...NO_CELL, outcome: 'not_a_number', bin: null, points: 0 },
            ],
          },
          {
            ...NO_FEATURE,
            name: 'purpose',
            cells: [
              { ...NO_CELL, bin: { index: 0, value: 'car%,%furniture, other' }, points: 4 },
              { ...NO_CELL, outcome: 'missing', bin: { index: 1, value: 'Missing' }, points: -7 },
              {
                ...NO_CELL,
                outcome: 'unseen_category',
                bin: { index: 1, value: 'Missing' },
                points: -7,
              },
            ],
          },
        ],
      },
    },
  },
  'monitoring.series': {
    tag: 'Stability',
    summary: 'Follow stability over time',
    description:
      'The stability of each day, week or month in UTC. A reference counts once in each interval, so that each point equals the stability of its own period.',
    params: { slug: DEPLOYMENT_SLUG },
    errors: ['deployment_not_found', 'model_not_found'],
    success: {
      description: 'The intervals with at least one score',
      example: {
        deployment_id: EXAMPLE_IDS.deployment,
        model_id: EXAMPLE_IDS.champion,
        model_version: '1.0.0',
        ...NO_BASIS,
        interval: 'day',
        points: [],
      },
    },
  },
  'monitoring.cutoffs': {
    tag: 'Stability',
    summary: 'See what cut-offs would approve',
    description:
      "Approval rate, mean probability and expected bads above and below each cut-off, by score band and by grade. A score is approved from the cut-off on; with a negative `pdo`, up to it. Expected bads are the sum of the model's own probabilities.",
    params: { slug: DEPLOYMENT_SLUG },
    query: { cutoff: '490' },
    errors: ['deployment_not_found', 'model_not_found'],
    success: {
      description: 'The cut-offs; the example shows a deployment without scores',
      example: {
        model_id: EXAMPLE_IDS.champion,
        model_version: '1.0.0',
        ...ALL_TIME,
        n: 0,
        cutoffs: [
          {
            cutoff: 490,
            approval_rate: null,
            approved: 0,
            declined: 0,
            mean_pd_approved: null,
            mean_pd_declined: null,
            expected_bads_approved: 0,
            expected_bads_declined: 0,
          },
        ],
        bands: [],
        grades: [
          { grade: 'A', ...NO_GROUP },
          { grade: 'B', ...NO_GROUP },
        ],
      },
    },
  },
  'monitoring.swap_set': {
    tag: 'Stability',
    summary: 'See whom a challenger would decide differently',
    description:
      'Applicants that both approve, only the champion (`swap_out`), only the challenger (`swap_in`), and neither. All are compared on the same applicants. Expected bads come from the probabilities of each model: nobody has observed an outcome of applicants that were declined.',
    params: { slug: DEPLOYMENT_SLUG },
    query: { challenger_id: EXAMPLE_IDS.challenger, cutoff: '490' },
    errors: ['deployment_not_found', 'challenger_not_found'],
    success: {
      description: 'The swap set; the example shows a deployment without scores',
      example: {
        ...ALL_TIME,
        n: 0,
        rule: 'same_cutoff',
        cutoff: 490,
        challenger_cutoff: 490,
        champion_model_ids: [],
        approval_rate: null,
        challenger_approval_rate: null,
        cells: {
          both_approve: NO_SWAP,
          swap_out: NO_SWAP,
          swap_in: NO_SWAP,
          both_decline: NO_SWAP,
        },
        mcnemar: null,
      },
    },
  },
  'monitoring.migration': {
    tag: 'Stability',
    summary: 'See how grades migrate from champion to challenger',
    description:
      'Counts each pair of grades over the applicants that both models scored. `row_share` is the share among the applicants with this grade of the champion. A grade is null where a score has none; `stable_share` is among the applicants with two grades.',
    params: { slug: DEPLOYMENT_SLUG },
    query: { challenger_id: EXAMPLE_IDS.challenger },
    errors: ['deployment_not_found', 'challenger_not_found'],
    success: {
      description: 'The pairs of grades; the example shows a deployment without scores',
      example: { ...ALL_TIME, n: 0, n_graded: 0, cells: [], stable_share: null },
    },
  },
} as const satisfies Record<string, OperationDoc>
