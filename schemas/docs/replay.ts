import {
  DEPLOYMENT_SLUG,
  EXAMPLE_IDS,
  EXAMPLE_REQUEST_ID,
  EXAMPLE_SPEC,
  SPEC_SHA256,
} from './examples.ts'
import { queuedJob } from './jobs.ts'
import type { OperationDoc } from './operation-doc.ts'

const same = <Value>(value: Value) => ({ logged: value, recomputed: value })
const YOUNG = { outcome: 'matched', points: -12, bin: { index: 0, range: '(-Infinity, 25]' } }
const OLD = { outcome: 'matched', points: 9.5, bin: { index: 1, range: '(25, Infinity)' } }
const CAR = {
  outcome: 'matched',
  points: 4,
  bin: { index: 0, value: 'car%,%furniture, other' },
}

export const REPLAY_DOCS = {
  'replays.start': {
    tag: 'Score log',
    summary: 'Replay the scores of a period',
    description:
      'Starts a job that recomputes every logged result of the deployment from its logged bins and the stored card, and compares it to the bit. Nothing is changed. Its `result` has `n` (results, one for each applicant and model), `identical`, `different` (the first 1,000: `request_id`, `record_index`, `model_id`, `field`, `logged`, `recomputed`) and `verdict`, `deterministic` or `differs`. The field `spec_sha256` says that the stored card is not the one that scored. With ten open jobs of the team the answer is 503.',
    params: { slug: DEPLOYMENT_SLUG },
    errors: ['deployment_not_found'],
    request: { 'A month': { from: '2026-10-01T00:00:00Z', to: '2026-11-01T00:00:00Z' } },
    success: { description: 'The job', example: queuedJob('replay') },
  },
  'scores.replay': {
    tag: 'Score log',
    summary: 'Replay a score with its features',
    description:
      'Scores features with the model that answered the request, and says what differs from the log: card, score, probability, grade, and each bin. The features are neither logged nor kept.',
    params: {
      request_id: {
        description: 'The `request_id` of the scoring response',
        example: EXAMPLE_REQUEST_ID,
      },
    },
    errors: ['score_not_found'],
    request: { 'The features of the application': { features: { age: 24, purpose: 'car' } } },
    success: {
      description: 'The comparison',
      example: {
        request_id: EXAMPLE_REQUEST_ID,
        record_index: 0,
        model_id: EXAMPLE_IDS.champion,
        identical: false,
        spec_sha256: same(SPEC_SHA256),
        score: { logged: 493.5, recomputed: 472 },
        pd: { logged: 0.05894152435529742, recomputed: 0.11656937043324155 },
        risk_grade: { logged: EXAMPLE_SPEC.risk_grades[0].grade, recomputed: 'B' },
        features: [
          { name: 'age', identical: false, logged: OLD, recomputed: YOUNG },
          { name: 'purpose', identical: true, ...same(CAR) },
        ],
      },
    },
  },
} as const satisfies Record<string, OperationDoc>
