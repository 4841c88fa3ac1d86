import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { errorResponses } from '../../../schemas/errors.ts'
import {
  Performance,
  PerformanceQuery,
  Vintages,
  VintagesQuery,
} from '../../../schemas/performance.ts'
import { MEMBER_OR_READING_KEY } from '../../http/access/caller.ts'
import { provenCaller } from '../../http/access/request-caller.ts'
import { defineRoute } from '../../http/define-route.ts'
import { sendJson } from '../../http/reply.ts'
import type { PerformanceReports } from './make-performance.ts'
import { vintageFields } from './response.ts'

const SlugParams = Type.Object({ slug: Type.String() })

/** Measures how good the scores of a deployment were. */
export const performanceRoutes: FastifyPluginAsyncTypebox<{
  readonly performance: PerformanceReports
}> = async (app, { performance }) => {
  app.get(
    '/v1/deployments/:slug/performance',
    defineRoute('performance.get', MEMBER_OR_READING_KEY, {
      params: SlugParams,
      querystring: PerformanceQuery,
      response: { 200: Performance, ...errorResponses(400, 401, 404) },
    }),
    async (request, reply) =>
      sendJson(
        reply,
        await performance.write(provenCaller(request), request.params.slug, request.query),
      ),
  )

  app.get(
    '/v1/deployments/:slug/performance/vintages',
    defineRoute('performance.vintages', MEMBER_OR_READING_KEY, {
      params: SlugParams,
      querystring: VintagesQuery,
      response: { 200: Vintages, ...errorResponses(400, 401, 404) },
    }),
    async (request) => {
      const { slug } = request.params
      const found = await performance.vintages(provenCaller(request), slug, request.query)
      return {
        definition: request.query.definition,
        vintages: found.map(vintageFields),
      }
    },
  )
}
