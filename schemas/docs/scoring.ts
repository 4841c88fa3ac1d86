import {
  DEPLOYMENT_SLUG,
  EXAMPLE_IDS,
  EXAMPLE_REQUEST_ID,
  EXAMPLE_SPEC,
  EXAMPLE_TIME,
} from './examples.ts'
import type { OperationDoc } from './operation-doc.ts'

const ROUTING = {
  'X-Routing-Key': {
    description:
      'In a live split, requests with the same routing key are scored by the same model, so retries for an applicant keep their model. Without it, the model is chosen anew for each request',
    example: 'application-4711',
  },
} as const

const SINGLE_HEADERS = {
  ...ROUTING,
  'X-Reference-Id': {
    description:
      'Your number of the application, which the score log keeps so that you can find the score by it: 1 to 128 printable ASCII characters without a space. Only for single scores: in a batch, the `id` of a record is its reference',
    example: 'application-4711',
  },
} as const

const errors = ['deployment_not_found', 'strict_mode_violation', 'reasons_not_configured'] as const
const batchErrors = [...errors, 'batch_too_large'] as const

const applicant = { age: 35, purpose: 'car' } as const
const records = [
  { id: 'application-4711', age: 35, purpose: 'car' },
  { id: 'application-4712', age: 22, purpose: null },
] as const

const scored = { score: 493.5, risk_grade: 'A', pd: 0.05894152435529742 } as const
const result = {
  ...scored,
  model_version: EXAMPLE_SPEC.version,
  model_name: EXAMPLE_SPEC.name,
  spec_version: '1.0',
  deployment_id: EXAMPLE_IDS.deployment,
  contributions: { age: 9.5, purpose: 4 },
  request_id: EXAMPLE_REQUEST_ID,
  scored_at: EXAMPLE_TIME,
  warnings: [],
} as const
const batchResult = {
  results: [
    { id: 'application-4711', ...scored, warnings: [] },
    {
      id: 'application-4712',
      score: 461,
      risk_grade: 'B',
      pd: 0.16190858830350974,
      warnings: ['missing_feature: purpose'],
    },
  ],
  model_version: EXAMPLE_SPEC.version,
  deployment_id: EXAMPLE_IDS.deployment,
  total: 2,
  scored_at: EXAMPLE_TIME,
  request_id: EXAMPLE_REQUEST_ID,
} as const

const WHAT_IT_DOES =
  'A missing value gets the points of the `Missing` bin, or 0 without one. `warnings` lists unknown variables, values that match no bin, and an applicant that has none of the model’s features. With `strict_mode`, or in a strict deployment, missing and unknown features are rejected.'
const IN_SHADOW_MODE =
  'In shadow mode `shadow_scores` contains the score of each active challenger; the score itself is always the champion’s.'

export const SCORING_DOCS = {
  'scoring.score': {
    tag: 'Scoring',
    summary: 'Score an applicant',
    description: `The body holds the feature values by name. ${WHAT_IT_DOES} ${IN_SHADOW_MODE}`,
    params: { slug: DEPLOYMENT_SLUG },
    headers: SINGLE_HEADERS,
    errors,
    request: {
      'An applicant': applicant,
      'In strict mode': { ...applicant, strict_mode: true },
    },
    success: { description: 'The score', example: result },
  },
  'scoring.score_batch': {
    tag: 'Scoring',
    summary: 'Score a batch of applicants',
    description: `Up to 1,000 records, all scored by one model. Results have the order of the records. ${WHAT_IT_DOES} ${IN_SHADOW_MODE}`,
    params: { slug: DEPLOYMENT_SLUG },
    headers: ROUTING,
    errors: batchErrors,
    request: {
      'Two applicants': { records },
      'With the points of each feature': { records, include_contributions: true },
    },
    success: { description: 'The scores', example: batchResult },
  },
  'scoring.score_scorecard': {
    tag: 'Scorecards',
    summary: 'Score an applicant by scorecard id',
    description: `${WHAT_IT_DOES} ${IN_SHADOW_MODE}`,
    headers: SINGLE_HEADERS,
    errors,
    request: { 'An applicant': { scorecard_id: EXAMPLE_IDS.deployment, applicant } },
    success: {
      description: 'The score',
      example: { scorecard_id: EXAMPLE_IDS.deployment, ...result },
    },
  },
  'scoring.score_scorecard_batch': {
    tag: 'Scorecards',
    summary: 'Score a batch by scorecard id',
    description: `Up to 1,000 applicants, all scored by one model. Results have the order of the applicants. ${WHAT_IT_DOES} ${IN_SHADOW_MODE}`,
    headers: ROUTING,
    errors: batchErrors,
    request: {
      'Two applicants': { scorecard_id: EXAMPLE_IDS.deployment, applicants: records },
    },
    success: {
      description: 'The scores',
      example: { scorecard_id: EXAMPLE_IDS.deployment, ...batchResult },
    },
  },
  'scoring.schema': {
    tag: 'Scoring',
    summary: 'Read what an applicant must have',
    description:
      'A JSON Schema of the body of a single score, made from the features of the champion and of every active challenger: name, type, label as `description`, and known categories or bounds as `examples`, since other values are legal. `required` is what strict mode asks for, and `examples` holds a whole applicant. The `ETag` changes with each change of the deployment: send it as `If-None-Match` and get 304 while it holds.',
    params: { slug: DEPLOYMENT_SLUG },
    errors: ['deployment_not_found'],
    success: {
      description: 'The schema',
      example: {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
        properties: { age: { type: ['number', 'null'], examples: [25] } },
        required: ['age', 'purpose'],
        examples: [applicant],
      },
      mediaType: 'application/schema+json',
    },
    others: { 304: { description: 'The schema is the one of `If-None-Match`' } },
  },
  'deployments.trial': {
    tag: 'Deployments',
    summary: 'Try an applicant',
    description: `Body, query and answer are those of a single score, and \`models\` has the result of every active model. Nothing is logged, and nothing counts in statistics, reports, alarms or the quota of a key. \`warnings\` also names each missing feature. ${WHAT_IT_DOES}`,
    params: { slug: DEPLOYMENT_SLUG },
    headers: ROUTING,
    errors,
    request: { 'An applicant': applicant },
    success: {
      description: 'The scores',
      example: {
        ...result,
        models: [
          {
            model_id: EXAMPLE_IDS.champion,
            model_name: EXAMPLE_SPEC.name,
            model_version: EXAMPLE_SPEC.version,
            role: 'champion',
            challenger_id: null,
            served: true,
            ...scored,
            contributions: { age: 9.5, purpose: 4 },
          },
        ],
        trial: true,
      },
    },
  },
} as const satisfies Record<string, OperationDoc>
