import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { errorResponses } from '../../../schemas/errors.ts'
import { MANAGER_OR_AUDITOR } from '../../http/access/caller.ts'
import { userCaller } from '../../http/access/request-caller.ts'
import { defineRoute } from '../../http/define-route.ts'
import { fileHeaders } from '../../http/reply.ts'
import type { AccessReviewService } from './service.ts'

export const accessReviewRoutes: FastifyPluginAsyncTypebox<{
  readonly accessReviews: AccessReviewService
}> = async (app, { accessReviews }) => {
  app.get(
    '/v1/access-review',
    defineRoute('access_review.export', MANAGER_OR_AUDITOR, {
      response: { 200: Type.String(), ...errorResponses(401, 403) },
    }),
    async (request, reply) => {
      const text = await accessReviews.export(userCaller(request))
      reply.headers(fileHeaders('text/csv; charset=utf-8', 'access-review.csv'))
      return text
    },
  )
}
