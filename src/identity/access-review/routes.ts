import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { errorResponses } from '../../schemas/errors.ts'
import { OWNER_OR_ADMIN } from '../access/caller.ts'
import { userCaller } from '../access/request-caller.ts'
import type { AccessReviewService } from './service.ts'

interface AccessReviewRouteOptions {
  readonly accessReviews: AccessReviewService
}

/** Export of who has access. */
export const accessReviewRoutes: FastifyPluginAsyncTypebox<AccessReviewRouteOptions> = async (
  app,
  { accessReviews },
) => {
  app.get(
    '/v1/access-review',
    {
      schema: { response: { 200: Type.String(), ...errorResponses(401, 403) } },
      config: { operation: 'access_review.export', access: OWNER_OR_ADMIN },
    },
    async (request, reply) => {
      const text = await accessReviews.export(userCaller(request))
      reply.headers({
        'content-type': 'text/csv; charset=utf-8',
        'content-disposition': 'attachment; filename="access-review.csv"',
        'x-content-type-options': 'nosniff',
      })
      return text
    },
  )
}
