import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { errorResponses } from '../../../schemas/errors.ts'
import { Job } from '../../../schemas/jobs.ts'
import { ReplayedScore, ReplayRequest, ScoreReplayRequest } from '../../../schemas/replay.ts'
import { ANALYSTS, MEMBER_OR_READING_KEY } from '../../http/access/caller.ts'
import { provenCaller, userCaller } from '../../http/access/request-caller.ts'
import { defineRoute, limitBodies } from '../../http/define-route.ts'
import { jobFields } from '../../jobs/job.ts'
import type { ReplayService } from './service.ts'

const SlugParams = Type.Object({ slug: Type.String() })
const RequestParams = Type.Object({ request_id: Type.String() })
/** As the body of a single score. */
const BODY_BYTES_MAX = 1024 * 1024

/** Routes that recompute logged results. */
export const replayRoutes: FastifyPluginAsyncTypebox<{ readonly replays: ReplayService }> = async (
  app,
  { replays },
) => {
  limitBodies(app, BODY_BYTES_MAX)

  app.post(
    '/v1/deployments/:slug/replays',
    defineRoute('replays.start', ANALYSTS, {
      params: SlugParams,
      body: ReplayRequest,
      response: { 202: Job, ...errorResponses(400, 401, 403, 404, 413, 415) },
    }),
    async (request, reply) => {
      const { slug } = request.params
      const job = await replays.start(userCaller(request), slug, request.body)
      return reply.code(202).send(jobFields(job))
    },
  )

  app.post(
    '/v1/scores/:request_id/replay',
    defineRoute('scores.replay', MEMBER_OR_READING_KEY, {
      params: RequestParams,
      body: ScoreReplayRequest,
      response: { 200: ReplayedScore, ...errorResponses(400, 401, 404, 413, 415) },
    }),
    (request) => replays.score(provenCaller(request), request.params.request_id, request.body),
  )
}
