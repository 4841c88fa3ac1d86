import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { errorResponses } from '../../../schemas/errors.ts'
import {
  DeploymentStats as DeploymentStatsSchema,
  ModelComparison,
  RECENT_SCORES_DEFAULT,
  StatsModelsQuery,
  StatsQuery,
  StatsSeries,
  StatsSeriesQuery,
} from '../../../schemas/stats.ts'
import { MEMBER_OR_READING_KEY } from '../../http/access/caller.ts'
import { provenCaller } from '../../http/access/request-caller.ts'
import { defineRoute } from '../../http/define-route.ts'
import { labelledScoreBuckets, latencyPercentileMs, type Rollup } from '../../log/index.ts'
import type { RecentScore } from './block-stats.ts'
import type { Comparison } from './comparison.ts'
import type { StatsService } from './service.ts'

const SlugParams = Type.Object({ slug: Type.String() })

/** Routes of the statistics of a deployment. */
export const statsRoutes: FastifyPluginAsyncTypebox<{ readonly stats: StatsService }> = async (
  app,
  { stats },
) => {
  app.get(
    '/v1/deployments/:slug/stats',
    defineRoute('stats.get', MEMBER_OR_READING_KEY, {
      params: SlugParams,
      querystring: StatsQuery,
      response: { 200: DeploymentStatsSchema, ...errorResponses(400, 401, 404) },
    }),
    async (request) => {
      const { recent = RECENT_SCORES_DEFAULT, from, to } = request.query
      const found = await stats.get(provenCaller(request), request.params.slug, {
        recent,
        from,
        to,
      })
      return {
        summary: found.summary === null ? NOTHING : summaryResponse(found.summary),
        recent_scores: found.recent.map(recentScoreResponse),
      }
    },
  )

  app.get(
    '/v1/deployments/:slug/stats/series',
    defineRoute('stats.series', MEMBER_OR_READING_KEY, {
      params: SlugParams,
      querystring: StatsSeriesQuery,
      response: { 200: StatsSeries, ...errorResponses(400, 401, 404) },
    }),
    async (request) => {
      const { from, to } = request.query
      const found = await stats.series(provenCaller(request), request.params.slug, { from, to })
      return { step: found.step, points: found.points.map(pointResponse) }
    },
  )

  app.get(
    '/v1/deployments/:slug/stats/models',
    defineRoute('stats.models', MEMBER_OR_READING_KEY, {
      params: SlugParams,
      querystring: StatsModelsQuery,
      response: { 200: ModelComparison, ...errorResponses(400, 401, 404) },
    }),
    async (request) => {
      const { from, to } = request.query
      const found = await stats.compare(provenCaller(request), request.params.slug, { from, to })
      return comparisonResponse(found)
    },
  )
}

function pointResponse({ startsAtMs, rollup }: { startsAtMs: number; rollup: Rollup }) {
  const latency = (share: number) => latencyPercentileMs(rollup.latencyBuckets, share) ?? 0
  return {
    starts_at: new Date(startsAtMs).toISOString(),
    total_requests: rollup.resultCount,
    avg_score: rollup.scoreAvg,
    avg_pd: orNull(rollup.pdAvg),
    avg_latency_ms: rollup.latencyAvgMs,
    p50_latency_ms: latency(0.5),
    p95_latency_ms: latency(0.95),
  }
}

function comparisonResponse({ applicants, firstAtMs, lastAtMs, models, challengers }: Comparison) {
  const moment = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString())
  return {
    applicants,
    first_at: moment(firstAtMs),
    last_at: moment(lastAtMs),
    models: models.map((model) => ({
      model_id: model.modelId,
      role: model.role,
      scored: model.scored,
      served: model.served,
      avg_score: model.scoreAvg,
      avg_pd: model.pdAvg,
      p50_latency_ms: model.latencyP50Ms,
      p95_latency_ms: model.latencyP95Ms,
      scores: model.scores,
      served_by_slice: [...model.servedBySlice],
    })),
    challengers: challengers.map((challenger) => ({
      challenger_id: challenger.challengerId,
      model_id: challenger.modelId,
      champion_model_id: challenger.championModelId,
      compared: challenger.compared,
      failed: challenger.failed,
      avg_difference: challenger.differenceAvg,
      p5_difference: challenger.differenceP5,
      p50_difference: challenger.differenceP50,
      p95_difference: challenger.differenceP95,
      differences: challenger.differences,
      grades: [...challenger.grades],
    })),
  }
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

function summaryResponse(rollup: Rollup) {
  return {
    total_requests: rollup.resultCount,
    avg_score: rollup.scoreAvg,
    avg_latency_ms: rollup.latencyAvgMs,
    p95_latency_ms: latencyPercentileMs(rollup.latencyBuckets, 0.95),
    min_score: rollup.scoreMin,
    max_score: rollup.scoreMax,
    avg_pd: orNull(rollup.pdAvg),
    last_request_at: new Date(rollup.lastRequestAtMs).toISOString(),
    score_buckets: labelledScoreBuckets(rollup.scoreBuckets),
  }
}

/** An average is NaN if one result has no probability: an average of the others would mislead. */
function orNull(average: number): number | null {
  return Number.isNaN(average) ? null : average
}

function recentScoreResponse({
  requestId,
  recordId,
  score,
  grade,
  pd,
  latencyMs,
  scoredAtMs,
}: RecentScore) {
  return {
    request_id: requestId,
    id: recordId,
    score,
    risk_grade: grade,
    pd,
    latency_ms: latencyMs,
    scored_at: new Date(scoredAtMs).toISOString(),
  }
}
