import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { errorResponses } from '../../../schemas/errors.ts'
import { MANAGER_OR_AUDITOR } from '../../http/access/caller.ts'
import { userCaller } from '../../http/access/request-caller.ts'
import { fileHeaders } from '../../http/reply.ts'
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
      config: { operation: 'access_review.export', access: MANAGER_OR_AUDITOR },
    },
    async (request, reply) => {
      const text = await accessReviews.export(userCaller(request))
      reply.headers(fileHeaders('text/csv; charset=utf-8', 'access-review.csv'))
      return text
    },
  )
}
