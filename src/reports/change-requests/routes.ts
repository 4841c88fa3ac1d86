import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import {
  ChangeRequestDetail,
  ChangeRequestList,
  ChangeRequest as ChangeRequestSchema,
  ChangeRequestsQuery,
  DecisionBody,
} from '../../../schemas/change-requests.ts'
import { errorResponses } from '../../../schemas/errors.ts'
import { ANY_MEMBER, OWNER_OR_ADMIN } from '../../http/access/caller.ts'
import { userCaller } from '../../http/access/request-caller.ts'
import { defineRoute, limitBodies } from '../../http/define-route.ts'
import { sendList } from '../../http/reply.ts'
import type { Clock } from '../../platform/clock.ts'
import type { ApprovalService } from '../../registry/deployments/approvals.ts'
import { changeRequestAnswer } from '../../registry/deployments/responses.ts'
import type { Difference, DifferenceReader } from './difference.ts'

interface ChangeRequestRouteOptions {
  readonly approvals: ApprovalService
  readonly differences: DifferenceReader
  readonly clock: Clock
}

const BODY_BYTES_MAX = 64 * 1024
/** Only an approval makes the change, which may have become wrong. */
const STATUSES = {
  approve: [400, 401, 403, 404, 409, 413, 415, 422],
  decline: [400, 401, 403, 404, 409, 413, 415],
} as const
const RequestParams = Type.Object({ id: Type.String() })

/** Changes that wait for a second person, and the decisions on them. */
export const changeRequestRoutes: FastifyPluginAsyncTypebox<ChangeRequestRouteOptions> = async (
  app,
  { approvals, differences, clock },
) => {
  limitBodies(app, BODY_BYTES_MAX)

  app.get(
    '/v1/change-requests',
    defineRoute('change_requests.list', ANY_MEMBER, {
      querystring: ChangeRequestsQuery,
      response: { 200: ChangeRequestList, ...errorResponses(400, 401) },
    }),
    (request, reply) => {
      const { deployment: deploymentId, state, ...wanted } = request.query
      const { teamId } = userCaller(request)
      const nowMs = clock.epochMs()
      return sendList(reply, wanted, {
        read: (page) => approvals.list(teamId, { deploymentId, state }, page),
        answer: (items) => ({
          change_requests: items.map((item) => changeRequestAnswer(item, nowMs)),
        }),
      })
    },
  )

  app.get(
    '/v1/change-requests/:id',
    defineRoute('change_requests.get', ANY_MEMBER, {
      params: RequestParams,
      response: { 200: ChangeRequestDetail, ...errorResponses(401, 404) },
    }),
    async (request) => {
      const found = await approvals.get(userCaller(request).teamId, request.params.id)
      const difference = await differences.of(found)
      return {
        ...changeRequestAnswer(found, clock.epochMs()),
        difference: differenceAnswer(difference),
      }
    },
  )

  for (const decision of ['approve', 'decline'] as const) {
    app.post(
      `/v1/change-requests/:id/${decision}`,
      defineRoute(`change_requests.${decision}`, OWNER_OR_ADMIN, {
        params: RequestParams,
        body: DecisionBody,
        response: {
          200: ChangeRequestSchema,
          ...errorResponses(...STATUSES[decision]),
        },
        isBodyOptional: true,
      }),
      async (request) => {
        const { id } = request.params
        const decided = await approvals[decision](userCaller(request), id, request.body?.comment)
        return changeRequestAnswer(decided, clock.epochMs())
      },
    )
  }
}

function differenceAnswer({ shares, models, affected }: Difference) {
  return {
    shares: shares.map(({ modelId, beforePct, afterPct }) => ({
      model_id: modelId,
      before_pct: beforePct,
      after_pct: afterPct,
    })),
    models: models && {
      from_model_id: models.fromModelId,
      to_model_id: models.toModelId,
      base_points: models.basePoints,
      points: [...models.bins],
      points_truncated: models.isTruncated,
    },
    affected: affected && {
      from: affected.from.toISOString(),
      to: affected.to.toISOString(),
      n: affected.n,
      changed: affected.changed,
      undecided: affected.undecided,
      share: affected.share,
      is_complete: affected.isComplete,
      exchanges: affected.exchanges.map((one) => ({
        from_model_id: one.fromModelId,
        to_model_id: one.toModelId,
        moved_pct: one.movedPct,
        n: one.n,
        changed: one.changed,
        undecided: one.undecided,
      })),
    },
  }
}
