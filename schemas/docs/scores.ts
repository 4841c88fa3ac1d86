import {
  EXAMPLE_IDS,
  EXAMPLE_REQUEST_ID,
  EXAMPLE_SPEC,
  EXAMPLE_TIME,
  SPEC_SHA256,
} from './examples.ts'
import type { OperationDoc } from './operation-doc.ts'

const REFERENCE = 'A-1001'
const NDJSON_LINE = {
  request_id: EXAMPLE_REQUEST_ID,
  record_index: 0,
  record_id: null,
  reference: REFERENCE,
  scored_at: EXAMPLE_TIME,
  deployment_id: EXAMPLE_IDS.deployment,
  model_id: EXAMPLE_IDS.champion,
  score: 493.5,
}

export const SCORE_DOCS = {
  'scores.get': {
    tag: 'Score log',
    summary: 'Read a score back',
    description:
      'A score as it was answered, with the result of every model that scored the applicant, and for each feature the bin and its points. Score, grade and PD are those in the log; the points are recomputed from the logged bins and the stored spec, and add up to the score to the bit. A score can be read within two seconds of its answer, on every replica, for as long as the log keeps it. A batch comes in pages. A key sees only deployments of its environment.',
    params: {
      request_id: {
        description: 'The `request_id` of the scoring response',
        example: EXAMPLE_REQUEST_ID,
      },
    },
    errors: ['score_not_found'],
    success: {
      description: 'The score',
      example: {
        request_id: EXAMPLE_REQUEST_ID,
        deployment_id: EXAMPLE_IDS.deployment,
        scored_at: EXAMPLE_TIME,
        latency_ms: 0.15,
        key_id: EXAMPLE_IDS.key,
        cache_version: 1,
        bucket: null,
        reference: REFERENCE,
        is_batch: false,
        total: 1,
        records: [
          {
            index: 0,
            id: null,
            results: [
              {
                model_id: EXAMPLE_IDS.champion,
                model_name: EXAMPLE_SPEC.name,
                model_version: EXAMPLE_SPEC.version,
                spec_sha256: SPEC_SHA256,
                role: 'champion',
                challenger_id: null,
                served: true,
                score: 493.5,
                risk_grade: 'A',
                pd: 0.05894152435529742,
                base_points: 480,
                features: [
                  {
                    name: 'age',
                    points: 9.5,
                    outcome: 'matched',
                    bin: { index: 1, range: '(25, Infinity)' },
                  },
                  {
                    name: 'purpose',
                    points: 4,
                    outcome: 'matched',
                    bin: { index: 0, value: 'car%,%furniture, other' },
                  },
                ],
              },
            ],
          },
        ],
      },
    },
  },
  'scores.list': {
    tag: 'Score log',
    summary: 'Find scores by reference',
    description:
      'All scores of an application: those of single requests with this `X-Reference-Id`, and those of batch records with this `id`. Newest first, one for each applicant, from the model that answered. With `match=part`, all whose reference contains the text, in any case: a page looks at 50,000 applicants or a few more, so it can be short or empty and have a next one. A key sees only deployments of its environment.',
    query: { reference: REFERENCE },
    errors: ['deployment_not_found'],
    success: {
      description: 'The scores',
      example: {
        scores: [
          {
            request_id: EXAMPLE_REQUEST_ID,
            record_index: 0,
            deployment_id: EXAMPLE_IDS.deployment,
            scored_at: EXAMPLE_TIME,
            score: 493.5,
            risk_grade: 'A',
            pd: 0.05894152435529742,
            model_version: EXAMPLE_SPEC.version,
            reference: REFERENCE,
          },
        ],
      },
    },
  },
  'log.erase': {
    tag: 'Score log',
    summary: 'Erase a reference',
    description:
      'Takes a reference out of the score log of the team: the `X-Reference-Id` of single requests, and the `id` of records of batches. Afterwards it is null where scores are read, and finds nothing. Scores, bins and statistics stay. Requests that wait in a spool lose it when they are drained; they are not counted. Scores of the next two seconds lose it too, because clocks of replicas differ; later ones can have it again. An answer that is kept for an `Idempotency-Key` has it for a day. Erasing twice is harmless. The audit log records each erasure with a hash of the reference.',
    request: { 'An application': { reference: 'A-1017' } },
    success: {
      description: 'What was erased',
      example: {
        reference_sha256: SPEC_SHA256,
        places: 1,
        requests: 1,
        covers_until: EXAMPLE_TIME,
      },
    },
  },
  'log.export': {
    tag: 'Score log',
    summary: 'Export the score log',
    description:
      "One row for each applicant and model: NDJSON, CSV (UTF-8, RFC 4180, lists as JSON) or Parquet (zstd). The columns are listed in docs/evidence.md. `bins` has the index of the bin of each feature that gave the points, -1 for none, and `outcomes` what became of its value, both in the order of the spec. The export is streamed; one that can't be read to its end breaks off. The audit log records each export. With `after` the answer is a page of the log in the order in which it was stored: whoever keeps `X-Next-Position` together with what they did with the page gets each score exactly once, through merges, the archive and erasures. A score that can't be read is 503, and never left out.",
    errors: ['deployment_not_found'],
    success: {
      description: 'The rows',
      headers: {
        'X-Next-Position': {
          description:
            'With `after`: the position behind the page; `after` itself when nothing is newer',
          example: '4711-1000-9f86d081',
        },
        'X-Expired-Scores': {
          description:
            'With `after`: scores that the page passes over, because they left the log with their retention',
          example: '0',
        },
      },
      example: JSON.stringify(NDJSON_LINE),
      mediaType: 'application/x-ndjson',
      texts: {
        'text/csv': 'request_id,record_index,record_id,reference,scored_at,…',
        'application/vnd.apache.parquet': 'PAR1…',
      },
    },
  },
} as const satisfies Record<string, OperationDoc>
