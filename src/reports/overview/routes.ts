import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { errorResponses } from '../../../schemas/errors.ts'
import {
  MonthlyReport,
  MonthlyReportQuery,
  Overview,
  OverviewQuery,
} from '../../../schemas/overview.ts'
import { MONTH_PATTERN } from '../../../schemas/patterns.ts'
import { MEMBER_OR_READING_KEY } from '../../http/access/caller.ts'
import { provenCaller } from '../../http/access/request-caller.ts'
import { defineRoute } from '../../http/define-route.ts'
import { sendJson } from '../../http/reply.ts'
import type { WriteMonth } from './reports.ts'
import type { OverviewService } from './service.ts'

interface OverviewRouteOptions {
  readonly overview: OverviewService
  readonly writeMonth: WriteMonth
}

const MonthParams = Type.Object({
  slug: Type.String(),
  month: Type.String({
    pattern: MONTH_PATTERN,
    description: 'A month as 2026-10',
  }),
})

/**
 * Answers what the risk team sees first: all deployments at a glance, and the report of a month.
 */
export const overviewRoutes: FastifyPluginAsyncTypebox<OverviewRouteOptions> = async (
  app,
  { overview, writeMonth },
) => {
  app.get(
    '/v1/overview',
    defineRoute('overview.get', MEMBER_OR_READING_KEY, {
      querystring: OverviewQuery,
      response: { 200: Overview, ...errorResponses(400, 401) },
    }),
    (request) => overview.get(provenCaller(request), request.query),
  )

  app.get(
    '/v1/deployments/:slug/reports/:month',
    defineRoute('reports.month', MEMBER_OR_READING_KEY, {
      params: MonthParams,
      querystring: MonthlyReportQuery,
      response: { 200: MonthlyReport, ...errorResponses(400, 401, 404) },
    }),
    async (request, reply) => {
      const { slug, month } = request.params
      return sendJson(reply, await writeMonth(provenCaller(request), slug, month, request.query))
    },
  )
}
