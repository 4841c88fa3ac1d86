import { WAITS_FOR_APPROVAL } from './change-requests.ts'
import { DEPLOYMENT_SLUG, EXAMPLE_IDS, EXAMPLE_REQUEST_ID, EXAMPLE_TIME } from './examples.ts'
import type { OperationDoc } from './operation-doc.ts'

const baseline = {
  id: EXAMPLE_IDS.baseline,
  model_id: EXAMPLE_IDS.champion,
  method: 'mean_at_cutoff',
  cutoff: 480,
  band_points: 20,
  from: null,
  to: EXAMPLE_TIME,
  n: 1,
  dedupe: 'last',
  per_feature: { age: 9.5, purpose: 4 },
  mean_total: 493.5,
  created_at: EXAMPLE_TIME,
} as const

/** How often the codes of two features were reasons. */
const counted = [
  { code: 'age', text: 'age', n: 1, first: 1 },
  { code: 'purpose', text: 'purpose', n: 1, first: 0 },
] as const

export const REASON_DOCS = {
  'reason_baselines.create': {
    tag: 'Reasons',
    summary: 'Compute a reason baseline',
    description:
      'Averages the points of each feature over the scores of a period, whether or not the model answered. `mean_at_cutoff` takes the applicants at the cut-off or up to `band_points` better, `mean_all` takes all. The baseline never changes, and has no effect until it is put in force.',
    params: { slug: DEPLOYMENT_SLUG },
    errors: [
      'deployment_not_found',
      'model_not_found',
      'reasons_not_configured',
      'invalid_baseline',
      'population_too_small',
    ],
    request: {
      'Applicants just above the cut-off': {
        model_id: EXAMPLE_IDS.champion,
        method: 'mean_at_cutoff',
        cutoff: 480,
        band_points: 20,
        min_population: 1,
      },
    },
    success: { description: 'The baseline', example: baseline },
  },
  'reason_baselines.list': {
    tag: 'Reasons',
    summary: 'List reason baselines',
    description: 'All baselines of a deployment, newest first.',
    params: { slug: DEPLOYMENT_SLUG },
    errors: ['deployment_not_found'],
    success: {
      description: 'The baselines',
      example: { reason_baselines: [{ ...baseline, is_in_force: false }] },
    },
  },
  'reason_baselines.put': {
    tag: 'Reasons',
    summary: 'Put a reason baseline in force',
    description:
      'The next scores of this model in this deployment have their reasons against the baseline. The log keeps its id with each result, so that reasons of earlier scores stay as they were. Where the deployment requires approval, the change waits.',
    params: { slug: DEPLOYMENT_SLUG },
    errors: [
      'deployment_not_found',
      'model_not_found',
      'baseline_not_found',
      'invalid_baseline',
      'limit_reached',
    ],
    others: WAITS_FOR_APPROVAL,
    request: {
      'A baseline of the champion': {
        model_id: EXAMPLE_IDS.champion,
        baseline_id: EXAMPLE_IDS.baseline,
      },
    },
    success: {
      description: 'The baseline is in force',
      example: {
        deployment_id: EXAMPLE_IDS.deployment,
        model_id: EXAMPLE_IDS.champion,
        baseline_id: EXAMPLE_IDS.baseline,
        cache_version: 2,
      },
    },
  },
  'reasons.method_report': {
    tag: 'Reasons',
    summary: 'Compare the methods of reasons',
    description:
      'Gives each decline of the champion its reasons by several methods, and counts how often each two agree. Averages are those of the period; the last score of each reference counts. Without `cutoff`, the baseline in force has one.',
    params: { slug: DEPLOYMENT_SLUG },
    errors: [
      'deployment_not_found',
      'reasons_not_configured',
      'invalid_baseline',
      'population_too_small',
    ],
    request: {
      'All applicants against the best points': { methods: ['mean_all', 'max'], cutoff: 500 },
    },
    success: {
      description: 'How often the methods agree',
      example: {
        n: 1,
        cutoff: 500,
        pairs: [{ a: 'mean_all', b: 'max', same_first: 1, same_set: 1, mean_jaccard: 1 }],
      },
    },
  },
  'reasons.counts': {
    tag: 'Reasons',
    summary: 'Count the reasons of a period',
    description:
      'Finds the reasons of each answer of a model in a period, as many as the card says and against the baseline that was in force then, and counts them by grade. It counts every answer, whether or not the caller asked for reasons. The period is any part of the log. One such count, or one baseline, is computed at a time; eight more wait, of one team three in all, and beyond that it is 503.',
    params: { slug: DEPLOYMENT_SLUG },
    errors: ['deployment_not_found', 'model_not_found', 'reasons_not_configured'],
    success: {
      description: 'How often each code was a reason',
      example: {
        model_id: EXAMPLE_IDS.champion,
        n: 1,
        no_adverse_factor: 0,
        reasons: counted,
        more_codes: 0,
        without_baseline: 0,
        grades: [
          {
            grade: 'B',
            n: 1,
            no_adverse_factor: 0,
            reasons: counted,
            more_codes: 0,
          },
        ],
      },
    },
  },
  'scores.explain': {
    tag: 'Reasons',
    summary: 'Explain a score',
    description:
      'What each feature added to a logged score, its reasons against the baseline that was in force, the changes that would have reached the cut-off or the next grade, and the score with each other bin. It comes from the logged bins and the stored specification, and is exact because points add up. The sentences are English; labels and texts of codes are in the language asked for.',
    params: {
      request_id: {
        description: 'The `request_id` of the scoring response',
        example: EXAMPLE_REQUEST_ID,
      },
    },
    errors: ['score_not_found'],
    success: {
      description: 'The explanation',
      example: {
        request_id: EXAMPLE_REQUEST_ID,
        record_index: 0,
        model_id: EXAMPLE_IDS.champion,
        score: 493.5,
        risk_grade: 'A',
        pd: 0.05894152435529742,
        cutoff: null,
        reasons: null,
        key_factors: [],
        reason_method: null,
        score_range: { min: 461, max: 493.5 },
        features: [
          {
            name: 'age',
            label: null,
            source: null,
            points: 9.5,
            baseline_points: null,
            outcome: 'matched',
            bin: { index: 1, range: '(25, Infinity)' },
            text: 'age: above 25, 9.5 points of at most 9.5',
          },
          {
            name: 'purpose',
            label: null,
            source: null,
            points: 4,
            baseline_points: null,
            outcome: 'matched',
            bin: { index: 0, value: 'car%,%furniture, other' },
            text: 'purpose: car, furniture, other, 4 points of at most 4',
          },
        ],
        counterfactuals: { need: 0, target: null, single: [], least_set: null },
        sensitivity: [
          {
            feature: 'age',
            bins: [
              { index: 0, range: '(-Infinity, 25]', points: -12, score: 472, risk_grade: 'B' },
              { index: 2, range: 'Missing', points: 0, score: 484, risk_grade: 'B' },
            ],
          },
          {
            feature: 'purpose',
            bins: [{ index: 1, value: 'Missing', points: -7, score: 482.5, risk_grade: 'B' }],
          },
        ],
      },
    },
  },
} as const satisfies Record<string, OperationDoc>
