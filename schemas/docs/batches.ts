import { EXAMPLE_IDS, EXAMPLE_REQUEST_ID, EXAMPLE_TIME } from './examples.ts'
import type { OperationDoc } from './operation-doc.ts'

const BATCH_ID = { id: { description: 'Id of the batch', example: EXAMPLE_IDS.job } }

const QUEUED = {
  id: EXAMPLE_IDS.job,
  status: 'queued',
  deployment_id: EXAMPLE_IDS.deployment,
  environment: 'production',
  cache_version: 1,
  champion_model_id: EXAMPLE_IDS.champion,
  input: { format: 'csv', bytes: 43, path: null, name: 'portfolio.csv' },
  results: { format: 'csv', parts: 0, bytes: 0, path: null },
  id_field: 'id',
  strict_mode: false,
  include_contributions: false,
  routing_key: null,
  counts: { scored: 0, errors: 0, warned: 0 },
  unmatched: [],
  warnings: [],
  unknown_columns: [],
  more_unknown_columns: 0,
  progress: { done: 0, total: 0 },
  created_by: EXAMPLE_IDS.key,
  created_at: EXAMPLE_TIME,
  finished_at: null,
}

const DONE = {
  ...QUEUED,
  status: 'done',
  results: { format: 'csv', parts: 1, bytes: 180, path: null },
  counts: { scored: 2, errors: 0, warned: 0 },
  progress: { done: 2, total: 2 },
  finished_at: EXAMPLE_TIME,
}

const RESULT = JSON.stringify({
  id: 'A-1001',
  score: 489.5,
  risk_grade: 'D',
  pd: 0.32,
  warnings: [],
  line: 2,
  request_id: EXAMPLE_REQUEST_ID,
  record_index: 0,
})

const ERROR = JSON.stringify({
  line: 3,
  id: 'A-1002',
  error: 'invalid_request',
  message: 'the line has 3 cells, but the header has 4',
})

export const BATCH_DOCS = {
  'batches.start': {
    tag: 'Batches',
    summary: 'Score a file of the store',
    description:
      'Starts a job that scores a file of the folder of the team in the store that `BATCH_STORE` names, with one state of the deployment: the one at this moment. The results are beside the file. Applicants that cannot be scored are put apart. A batch counts as one request toward the quota, and every scored applicant is in the score log and in the statistics.',
    request: {
      'A file of the folder of the team': {
        deployment: EXAMPLE_IDS.deployment,
        input: { path: '2026-11/portfolio.csv' },
      },
    },
    errors: ['deployment_not_found', 'invalid_file'],
    success: {
      description: 'The batch waits for its turn',
      example: {
        ...QUEUED,
        input: { format: 'csv', bytes: 43, path: '2026-11/portfolio.csv', name: null },
      },
    },
  },
  'batches.upload': {
    tag: 'Batches',
    summary: 'Send a file to be scored',
    description:
      'The body is a file: CSV (`text/csv`), NDJSON (`application/x-ndjson`) or Parquet (`application/vnd.apache.parquet`), of at most `BATCH_MAX_BYTES`, 1 GiB by default. It is stored before the answer, and removed after the end of the batch. A repeated upload is a second batch, unless it has the `Idempotency-Key` of the first one.',
    query: { deployment: EXAMPLE_IDS.deployment },
    errors: ['deployment_not_found'],
    success: { description: 'The file is stored, and waits for its turn', example: QUEUED },
  },
  'batches.list': {
    tag: 'Batches',
    summary: 'List batches',
    description: 'The batches of the team, newest first; a key sees those of its environment.',
    success: { description: 'The batches', example: { batches: [DONE] } },
  },
  'batches.get': {
    tag: 'Batches',
    summary: 'Show a batch',
    description: 'State, counts and progress of a batch.',
    params: BATCH_ID,
    errors: ['batch_not_found'],
    success: { description: 'The batch', example: DONE },
  },
  'batches.cancel': {
    tag: 'Batches',
    summary: 'Cancel a batch',
    description:
      'Ends a batch that waits or runs. Applicants that are scored by then stay in the score log and in the results. A batch that has ended stays as it is.',
    params: BATCH_ID,
    errors: ['batch_not_found'],
    success: {
      description: 'The batch as it is now',
      example: { ...QUEUED, status: 'cancelled', finished_at: EXAMPLE_TIME },
    },
  },
  'batches.results': {
    tag: 'Batches',
    summary: 'Read the results of a batch',
    description:
      'One file with all parts, in the order of the input: a line for each scored applicant, with its line in the input, its reference, score, risk grade, probability of default, warnings, and its place in the score log.',
    params: BATCH_ID,
    errors: ['batch_not_found', 'batch_not_ended'],
    success: {
      description: 'The results',
      example: RESULT,
      mediaType: 'application/x-ndjson',
      texts: {
        'text/csv': 'line,id,score,risk_grade,pd,warnings,request_id,record_index',
        'application/vnd.apache.parquet': 'PAR1…',
      },
    },
  },
  'batches.errors': {
    tag: 'Batches',
    summary: 'Read the errors of a batch',
    description:
      'A line of JSON for each line of the file that was not scored: its number, its reference, the code of the error, and what is wrong.',
    params: BATCH_ID,
    errors: ['batch_not_found', 'batch_not_ended'],
    success: {
      description: 'The errors',
      example: ERROR,
      mediaType: 'application/x-ndjson',
    },
  },
} as const satisfies Record<string, OperationDoc>
