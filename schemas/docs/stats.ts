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
  'stats.series': {
    tag: 'Deployments',
    summary: 'Read what a deployment has answered over time',
    description:
      'Volume, averages and latency in each minute, hour or day from `from` to `to`, of served results. The length of the stretch decides the step. What was answered shows within two seconds.',
    params: { slug: DEPLOYMENT_SLUG },
    errors: ['deployment_not_found'],
    success: {
      description: 'The steps in which something was answered',
      example: { step: 'hour', points: [] },
    },
  },
  'stats.models': {
    tag: 'Deployments',
    summary: "Compare a deployment's models on the same applicants",
    description:
      'Looks at the newest applicants of the score log: what each model gave them, which answered, and how the scores and grades of each challenger differ from those of the champion, in shadow mode and in a live split alike.',
    params: { slug: DEPLOYMENT_SLUG },
    errors: ['deployment_not_found'],
    success: {
      description: 'The comparison; here of a deployment that has answered nothing',
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
