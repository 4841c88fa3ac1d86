import { DEPLOYMENT_SLUG } from './examples.ts'
import type { OperationDoc } from './operation-doc.ts'

export const STATS_DOCS = {
  'stats.get': {
    tag: 'Deployments',
    summary: 'Get the statistics of a deployment',
    description:
      'Counts, averages, the distribution of scores, latency, and the most recent scores. Only served results count, one per applicant; each record of a batch counts. A score appears within two seconds. A key sees only deployments of its environment.',
    params: { slug: DEPLOYMENT_SLUG },
    errors: ['deployment_not_found'],
    success: {
      description: 'The statistics; the example shows a deployment without scores',
      example: {
        summary: {
          total_requests: 0,
          avg_score: null,
          avg_latency_ms: null,
          p95_latency_ms: null,
          min_score: null,
          max_score: null,
          avg_pd: null,
          last_request_at: null,
          score_buckets: {},
        },
        recent_scores: [],
      },
    },
  },
  'stats.series': {
    tag: 'Deployments',
    summary: 'Get the statistics of a deployment over time',
    description:
      'Volume, averages and latency of served results in each minute, hour or day between `from` and `to`. The length of the range decides the step. A score appears within two seconds.',
    params: { slug: DEPLOYMENT_SLUG },
    errors: ['deployment_not_found'],
    success: {
      description: 'The steps with at least one score',
      example: { step: 'hour', points: [] },
    },
  },
  'stats.models': {
    tag: 'Deployments',
    summary: "Compare a deployment's models on the same applicants",
    description:
      'Compares the models on all applicants of the time range, or of the whole score log: the score of each model, the model that answered, and the differences in score and grade between each challenger and the champion. It covers shadow mode and live splits.',
    params: { slug: DEPLOYMENT_SLUG },
    errors: ['deployment_not_found'],
    success: {
      description: 'The comparison; the example shows a deployment without scores',
      example: {
        applicants: 0,
        first_at: null,
        last_at: null,
        models: [],
        challengers: [],
      },
    },
  },
} as const satisfies Record<string, OperationDoc>
