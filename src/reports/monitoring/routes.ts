import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { Baseline, BaselineRequest } from '../../../schemas/baselines.ts'
import { errorResponses } from '../../../schemas/errors.ts'
import {
  Cutoffs,
  Migration,
  Stability,
  StabilitySeries,
  SwapSet,
} from '../../../schemas/monitoring.ts'
import {
  ACT_DEFAULT,
  CutoffsQuery,
  MigrationQuery,
  StabilityQuery,
  StabilitySeriesQuery,
  SwapSetQuery,
  WATCH_DEFAULT,
  ZERO_FILL_DEFAULT,
} from '../../../schemas/monitoring-query.ts'
import { VersionComparison, VersionQuery } from '../../../schemas/versions.ts'
import { DEPLOYERS, MEMBER_OR_READING_KEY } from '../../http/access/caller.ts'
import { provenCaller, userCaller } from '../../http/access/request-caller.ts'
import { defineRoute } from '../../http/define-route.ts'
import { sendJson } from '../../http/reply.ts'
import type { BaselineService } from './baseline-service.ts'
import type { MonitoringReports } from './reports.ts'

interface MonitoringRouteOptions {
  readonly monitoring: MonitoringReports
  readonly baselines: BaselineService
}

const ModelParams = Type.Object({ id: Type.String() })
const SlugParams = Type.Object({ slug: Type.String() })
const LEVELS = {
  zero_fill: ZERO_FILL_DEFAULT,
  watch: WATCH_DEFAULT,
  act: ACT_DEFAULT,
} as const

/** Routes that say whether a card still fits its applicants. */
export const monitoringRoutes: FastifyPluginAsyncTypebox<MonitoringRouteOptions> = async (
  app,
  { monitoring, baselines },
) => {
  app.put(
    '/v1/models/:id/baseline',
    defineRoute('models.baseline', DEPLOYERS, {
      params: ModelParams,
      body: BaselineRequest,
      response: { 200: Baseline, ...errorResponses(400, 401, 403, 404, 413, 415, 422) },
    }),
    async (request) => {
      const { id } = request.params
      const { baseline, developmentAuc } = await baselines.put(
        userCaller(request),
        id,
        request.body,
      )
      return {
        id: baseline?.id ?? null,
        model_id: id,
        origin: baseline?.origin ?? null,
        n: baseline?.n ?? null,
        mean_score: baseline?.meanScore ?? null,
        development_auc: developmentAuc,
        created_at: baseline?.createdAt.toISOString() ?? null,
      }
    },
  )

  app.get(
    '/v1/deployments/:slug/stability',
    defineRoute('monitoring.stability', MEMBER_OR_READING_KEY, {
      params: SlugParams,
      querystring: StabilityQuery,
      response: { 200: Stability, ...errorResponses(400, 401, 404) },
    }),
    async (request, reply) =>
      sendJson(
        reply,
        await monitoring.writeStability(provenCaller(request), request.params.slug, {
          ...LEVELS,
          ...request.query,
        }),
      ),
  )

  app.get(
    '/v1/deployments/:slug/stability/series',
    defineRoute('monitoring.series', MEMBER_OR_READING_KEY, {
      params: SlugParams,
      querystring: StabilitySeriesQuery,
      response: { 200: StabilitySeries, ...errorResponses(400, 401, 404) },
    }),
    async (request, reply) =>
      sendJson(
        reply,
        await monitoring.writeSeries(provenCaller(request), request.params.slug, {
          ...LEVELS,
          interval: 'day',
          ...request.query,
        }),
      ),
  )

  app.get(
    '/v1/deployments/:slug/cutoffs',
    defineRoute('monitoring.cutoffs', MEMBER_OR_READING_KEY, {
      params: SlugParams,
      querystring: CutoffsQuery,
      response: { 200: Cutoffs, ...errorResponses(400, 401, 404) },
    }),
    (request) => {
      const { cutoff: cutoffs, ...query } = request.query
      return monitoring.cutoffs(provenCaller(request), request.params.slug, { ...query, cutoffs })
    },
  )

  app.get(
    '/v1/deployments/:slug/swap-set',
    defineRoute('monitoring.swap_set', MEMBER_OR_READING_KEY, {
      params: SlugParams,
      querystring: SwapSetQuery,
      response: { 200: SwapSet, ...errorResponses(400, 401, 404) },
    }),
    (request) =>
      monitoring.swapSet(provenCaller(request), request.params.slug, {
        rule: 'same_cutoff',
        ...request.query,
      }),
  )

  app.get(
    '/v1/deployments/:slug/version-comparison',
    defineRoute('monitoring.versions', MEMBER_OR_READING_KEY, {
      params: SlugParams,
      querystring: VersionQuery,
      response: { 200: VersionComparison, ...errorResponses(400, 401, 404) },
    }),
    (request) => monitoring.versions(provenCaller(request), request.params.slug, request.query),
  )

  app.get(
    '/v1/deployments/:slug/migration',
    defineRoute('monitoring.migration', MEMBER_OR_READING_KEY, {
      params: SlugParams,
      querystring: MigrationQuery,
      response: { 200: Migration, ...errorResponses(400, 401, 404) },
    }),
    (request) => monitoring.migration(provenCaller(request), request.params.slug, request.query),
  )
}
