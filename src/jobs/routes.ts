import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { errorResponses } from '../../schemas/errors.ts'
import { Job } from '../../schemas/jobs.ts'
import { ANALYSTS, ANY_MEMBER } from '../http/access/caller.ts'
import { userCaller } from '../http/access/request-caller.ts'
import { defineRoute } from '../http/define-route.ts'
import { jobFields } from './job.ts'
import type { JobService } from './service.ts'

const JobParams = Type.Object({ id: Type.String() })

export const jobRoutes: FastifyPluginAsyncTypebox<{ readonly jobs: JobService }> = async (
  app,
  { jobs },
) => {
  app.get(
    '/v1/jobs/:id',
    defineRoute('jobs.get', ANY_MEMBER, {
      params: JobParams,
      response: { 200: Job, ...errorResponses(401, 403, 404) },
    }),
    async (request) => jobFields(await jobs.getAs(userCaller(request), request.params.id)),
  )

  app.post(
    '/v1/jobs/:id/cancel',
    defineRoute('jobs.cancel', ANALYSTS, {
      params: JobParams,
      response: { 200: Job, ...errorResponses(401, 403, 404) },
    }),
    async (request) => jobFields(await jobs.cancelAs(userCaller(request), request.params.id)),
  )
}
