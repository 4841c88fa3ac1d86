import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { BacktestRequest } from '../../../schemas/backtest.ts'
import { errorResponses } from '../../../schemas/errors.ts'
import { Job } from '../../../schemas/jobs.ts'
import { ANALYSTS } from '../../http/access/caller.ts'
import { userCaller } from '../../http/access/request-caller.ts'
import { signalWhileConnected } from '../../http/connected.ts'
import { defineRoute, limitBodies } from '../../http/define-route.ts'
import { jobFields } from '../../jobs/job.ts'
import type { BacktestService } from './service.ts'

/** A larger card is registered first: the specification is kept with its job. */
const BODY_BYTES_MAX = 4 * 1024 * 1024

export const backtestRoutes: FastifyPluginAsyncTypebox<{
  readonly backtests: BacktestService
}> = async (app, { backtests }) => {
  limitBodies(app, BODY_BYTES_MAX)

  app.post(
    '/v1/backtests',
    defineRoute('backtests.start', ANALYSTS, {
      body: BacktestRequest,
      response: { 202: Job, ...errorResponses(400, 401, 403, 404, 413, 415, 422) },
      takesCard: true,
    }),
    async (request, reply) => {
      const job = await backtests.start(
        userCaller(request),
        request.body,
        signalWhileConnected(request, reply),
      )
      return reply.code(202).send(jobFields(job))
    },
  )
}
