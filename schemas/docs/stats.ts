import { DEPLOYMENT_SLUG } from './examples.ts'
import type { OperationDoc } from './operation-doc.ts'

export const STATS_DOCS = {
  'stats.get': {
    tag: 'Deployments',
    summary: 'Read what a deployment has answered',
    description:
      'Counts, averages, the distribution of scores, latency, and the most recent scores; all of served results, one for each applicant. What was answered shows within two seconds. A key sees deployments of its environment only.',
    params: { slug: DEPLOYMENT_SLUG },
    errors: ['deployment_not_found'],
    success: {
      description: 'The stats; here those of a deployment that has answered nothing',
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
} as const satisfies Record<string, OperationDoc>
