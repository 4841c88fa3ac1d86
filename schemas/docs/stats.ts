import { DEPLOYMENT_SLUG, EXAMPLE_REQUEST_ID, EXAMPLE_TIME } from './examples.ts'
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
      description: 'The stats',
      example: {
        summary: {
          total_requests: 1,
          avg_score: 497,
          avg_latency_ms: 0.42,
          p95_latency_ms: 0.42,
          min_score: 497,
          max_score: 497,
          avg_pd: 0.42,
          last_request_at: EXAMPLE_TIME,
          score_buckets: { '400-500': 1 },
        },
        recent_scores: [
          {
            request_id: EXAMPLE_REQUEST_ID,
            score: 497,
            risk_grade: 'B',
            pd: 0.42,
            latency_ms: 0.42,
            scored_at: EXAMPLE_TIME,
          },
        ],
      },
    },
  },
} as const satisfies Record<string, OperationDoc>
