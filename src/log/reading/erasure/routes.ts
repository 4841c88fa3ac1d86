import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { errorResponses } from '../../../../schemas/errors.ts'
import { LogErasure, LogErasureBody } from '../../../../schemas/scores.ts'
import { OWNER_OR_ADMIN } from '../../../http/access/caller.ts'
import { userCaller } from '../../../http/access/request-caller.ts'
import { defineRoute } from '../../../http/define-route.ts'
import { erasureFields, type LogErasureService } from './service.ts'
/** Takes references out of the score log. */
export const logErasureRoutes: FastifyPluginAsyncTypebox<{
  readonly logErasures: LogErasureService
}> = async (app, { logErasures }) => {
  app.post(
    '/v1/log/erasures',
    defineRoute('log.erase', OWNER_OR_ADMIN, {
      body: LogErasureBody,
      response: { 200: LogErasure, ...errorResponses(400, 401, 403, 413, 415) },
    }),
    async (request) =>
      erasureFields(await logErasures.erase(userCaller(request), request.body.reference)),
  )
}
