import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { ChangeRequest } from '../../../schemas/change-requests.ts'
import { ScorecardPromoteResult, ScorecardRollbackResult } from '../../../schemas/deployments.ts'
import { errorResponses } from '../../../schemas/errors.ts'
import {
  AddScorecardChallengerResult,
  PromoteVersionRequest,
  RemoveScorecardChallengerResult,
  ScorecardChallengerRequest,
  ScorecardList,
  ScorecardRollbackBody,
  ScorecardsQuery,
} from '../../../schemas/scorecards.ts'
import { MEMBER_OR_READING_KEY, OWNER_OR_ADMIN } from '../../access/caller.ts'
import { provenCaller, userCaller } from '../../access/request-caller.ts'
import { AppError } from '../../errors.ts'
import { bodyLimitOf } from '../../http/body-limit.ts'
import { sendList } from '../../http/list.ts'
import { outcomeAnswer, promotedAnswer, rolledBackAnswer, trafficChallenger } from '../responses.ts'
import type { DeploymentService, DeploymentSummary } from '../service.ts'
import type { ScorecardService } from './service.ts'

interface ScorecardRouteOptions {
  readonly deployments: DeploymentService
  readonly scorecards: ScorecardService
}

const BODY_BYTES_MAX = 64 * 1024
const ScorecardParams = Type.Object({ scorecard_id: Type.String() })
const ChallengerParams = Type.Object({ scorecard_id: Type.String(), version: Type.String() })

/** Deployment management under `/api/v1`: deployments are scorecards, versions name challengers. */
export const scorecardRoutes: FastifyPluginAsyncTypebox<ScorecardRouteOptions> = async (
  app,
  { deployments, scorecards },
) => {
  const bodyLimit = bodyLimitOf(app, BODY_BYTES_MAX)

  app.get(
    '/api/v1/scorecards',
    {
      schema: {
        querystring: ScorecardsQuery,
        response: { 200: ScorecardList, ...errorResponses(400, 401) },
      },
      config: { operation: 'scorecards.list', access: MEMBER_OR_READING_KEY },
    },
    (request, reply) => {
      const { environment, ...wanted } = request.query
      const caller = provenCaller(request)
      const own = caller.kind === 'key' ? caller.environment : null
      // A key for one environment never sees the other, whatever the query asks for.
      const isOutside = own !== null && environment !== undefined && environment !== own
      const filter = { environment: own ?? environment }
      return sendList(reply, wanted, {
        read: async (page) =>
          isOutside ? NOTHING : await deployments.list(caller.teamId, filter, page),
        answer: (items) => ({ scorecards: items.map(listedScorecard) }),
      })
    },
  )

  app.post(
    '/api/v1/scorecards/:scorecard_id/challengers',
    {
      bodyLimit,
      schema: {
        params: ScorecardParams,
        body: ScorecardChallengerRequest,
        response: {
          200: AddScorecardChallengerResult,
          202: ChangeRequest,
          ...errorResponses(400, 401, 403, 404, 409, 413, 415, 422),
        },
      },
      config: {
        operation: 'scorecards.add_challenger',
        access: OWNER_OR_ADMIN,
        takesIdempotencyKey: true,
      },
    },
    async (request, reply) => {
      if (request.body === undefined) {
        throw new AppError('invalid_request', 'the body is empty: send a JSON object')
      }
      const { scorecard_id: id } = request.params
      const outcome = await scorecards.addChallenger(userCaller(request), id, request.body)
      return outcomeAnswer(
        outcome,
        (status) => reply.code(status),
        ({ deployment, challenger }) => ({
          scorecard_id: deployment.id,
          challenger: {
            id: challenger.id,
            model_id: challenger.model.id,
            version: challenger.model.version,
            traffic_pct: challenger.trafficPct,
            mode: deployment.shadowMode ? ('shadow' as const) : ('live' as const),
            is_active: challenger.isActive,
          },
          cache_version: deployment.cacheVersion,
        }),
      )
    },
  )

  app.delete(
    '/api/v1/scorecards/:scorecard_id/challengers/:version',
    {
      schema: {
        params: ChallengerParams,
        response: {
          200: RemoveScorecardChallengerResult,
          202: ChangeRequest,
          ...errorResponses(400, 401, 403, 404, 409, 413, 415, 422),
        },
      },
      config: {
        operation: 'scorecards.remove_challenger',
        access: OWNER_OR_ADMIN,
        takesIdempotencyKey: true,
      },
    },
    async (request, reply) => {
      const { scorecard_id: id, version } = request.params
      const outcome = await scorecards.removeChallenger(userCaller(request), id, version)
      return outcomeAnswer(
        outcome,
        (status) => reply.code(status),
        ({ deployment, challenger }) => ({
          scorecard_id: deployment.id,
          action: 'remove_challenger' as const,
          challenger: trafficChallenger(challenger),
          cache_version: deployment.cacheVersion,
        }),
      )
    },
  )

  app.post(
    '/api/v1/scorecards/:scorecard_id/promote',
    {
      bodyLimit,
      schema: {
        params: ScorecardParams,
        body: PromoteVersionRequest,
        response: {
          200: ScorecardPromoteResult,
          202: ChangeRequest,
          ...errorResponses(400, 401, 403, 404, 409, 413, 415, 422),
        },
      },
      config: {
        operation: 'scorecards.promote',
        access: OWNER_OR_ADMIN,
        takesIdempotencyKey: true,
      },
    },
    async (request, reply) => {
      const { scorecard_id: id } = request.params
      const outcome = await scorecards.promote(userCaller(request), id, request.body)
      return outcomeAnswer(
        outcome,
        (status) => reply.code(status),
        (succession) => ({ scorecard_id: succession.after.id, ...promotedAnswer(succession) }),
      )
    },
  )

  app.post(
    '/api/v1/scorecards/:scorecard_id/rollback',
    {
      bodyLimit,
      schema: {
        params: ScorecardParams,
        body: ScorecardRollbackBody,
        response: {
          200: ScorecardRollbackResult,
          202: ChangeRequest,
          ...errorResponses(400, 401, 403, 404, 409, 413, 415, 422),
        },
      },
      config: {
        operation: 'scorecards.rollback',
        access: OWNER_OR_ADMIN,
        takesIdempotencyKey: true,
        isBodyOptional: true,
      },
    },
    async (request, reply) => {
      const { scorecard_id: id } = request.params
      const outcome = await deployments.rollBack(userCaller(request), id, request.body ?? {})
      return outcomeAnswer(
        outcome,
        (status) => reply.code(status),
        (succession) => ({ scorecard_id: succession.after.id, ...rolledBackAnswer(succession) }),
      )
    },
  )
}

const NOTHING = { items: [], nextCursor: null }

function listedScorecard(deployment: DeploymentSummary) {
  return {
    id: deployment.id,
    name: deployment.name,
    model_version: deployment.champion.version,
    environment: deployment.environment,
    is_active: deployment.isActive,
    shadow_mode: deployment.shadowMode,
    created_at: deployment.createdAt.toISOString(),
  }
}
