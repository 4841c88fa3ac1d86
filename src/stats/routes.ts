import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { errorResponses } from '../../schemas/errors.ts'
import {
  DeploymentStats as DeploymentStatsSchema,
  RECENT_SCORES_DEFAULT,
  StatsQuery,
} from '../../schemas/stats.ts'
import { MEMBER_OR_READING_KEY } from '../auth/caller.ts'
import { provenCaller } from '../auth/plugin.ts'
import { latencyPercentileMs } from '../scorelog/latency-buckets.ts'
import type { Rollup } from '../scorelog/rollup.ts'
import { labelledScoreBuckets } from '../scorelog/score-buckets.ts'
import type { RecentScore, StatsService } from './service.ts'

interface StatsRouteOptions {
  readonly stats: StatsService
}

const SlugParams = Type.Object({ slug: Type.String() })

/** What deployments have answered. */
export const statsRoutes: FastifyPluginAsyncTypebox<StatsRouteOptions> = async (app, { stats }) => {
  app.get(
    '/v1/deployments/:slug/stats',
    {
      schema: {
        params: SlugParams,
        querystring: StatsQuery,
        response: { 200: DeploymentStatsSchema, ...errorResponses(400, 401, 404) },
      },
      config: { operation: 'stats.get', access: MEMBER_OR_READING_KEY },
    },
    async (request) => {
      const { recent = RECENT_SCORES_DEFAULT, from, to } = request.query
      const found = await stats.get(provenCaller(request), request.params.slug, {
        recent,
        from,
        to,
      })
      return {
        summary: found.summary === null ? NOTHING : summaryAnswer(found.summary),
        recent_scores: found.recent.map(recentAnswer),
      }
    },
  )
}

const NOTHING = {
  total_requests: 0,
  avg_score: null,
  avg_latency_ms: null,
  p95_latency_ms: null,
  min_score: null,
  max_score: null,
  avg_pd: null,
  last_request_at: null,
  score_buckets: {},
}

function summaryAnswer(rollup: Rollup) {
  return {
    total_requests: rollup.resultCount,
    avg_score: rollup.scoreAvg,
    avg_latency_ms: rollup.latencyAvgMs,
    p95_latency_ms: latencyPercentileMs(rollup.latencyBuckets, 0.95),
    min_score: rollup.scoreMin,
    max_score: rollup.scoreMax,
    avg_pd: rollup.pdAvg,
    last_request_at: new Date(rollup.lastRequestAtMs).toISOString(),
    score_buckets: labelledScoreBuckets(rollup.scoreBuckets),
  }
}

function recentAnswer({ requestId, score, grade, pd, latencyMs, scoredAtMs }: RecentScore) {
  return {
    request_id: requestId,
    score,
    risk_grade: grade,
    pd,
    latency_ms: latencyMs,
    scored_at: new Date(scoredAtMs).toISOString(),
  }
}
