import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type TSchema, Type } from '@sinclair/typebox'
import { ChangeRequest } from '../../../schemas/change-requests.ts'
import {
  DeploymentList,
  Deployment as DeploymentSchema,
  DeploymentsQuery,
  PromoteRequest,
  PromoteResult,
  RollbackRequest,
  RollbackResult,
  ScorecardPromoteResult,
  ScorecardRollbackResult,
  TrafficRequest,
  TrafficResult,
  UpdateDeploymentRequest,
} from '../../../schemas/deployments.ts'
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
import { AppError } from '../../errors.ts'
import { ANY_MEMBER, MEMBER_OR_READING_KEY, OWNER_OR_ADMIN } from '../../http/access/caller.ts'
import { provenCaller, userCaller } from '../../http/access/request-caller.ts'
import { defineRoute, readBodyLimit } from '../../http/define-route.ts'
import { sendList } from '../../http/reply.ts'
import { possibleAlone } from './approval.ts'
import type { Deployment } from './deployment.ts'
import {
  featuresField,
  outcomeAnswer,
  promotedAnswer,
  rolledBackAnswer,
  trafficChallenger,
} from './responses.ts'
import type { ScorecardService } from './scorecard-service.ts'
import type { DeploymentService, DeploymentSummary } from './service.ts'

interface DeploymentRouteOptions {
  readonly deployments: DeploymentService
  readonly scorecards: ScorecardService
}

const NOTHING = { items: [], nextCursor: null }
const BODY_BYTES_MAX = 64 * 1024
const SlugParams = Type.Object({ slug: Type.String() })
const ScorecardParams = Type.Object({ scorecard_id: Type.String() })
const ChallengerParams = Type.Object({ scorecard_id: Type.String(), version: Type.String() })

/** Management of deployments, under `/v1` and `/api/v1`. */
export const deploymentRoutes: FastifyPluginAsyncTypebox<DeploymentRouteOptions> = async (
  app,
  { deployments, scorecards },
) => {
  const bodyLimit = readBodyLimit(app, BODY_BYTES_MAX)

  app.get(
    '/v1/deployments',
    defineRoute('deployments.list', ANY_MEMBER, {
      querystring: DeploymentsQuery,
      response: { 200: DeploymentList, ...errorResponses(400, 401) },
    }),
    (request, reply) => {
      const { environment, ...wanted } = request.query
      const { teamId } = userCaller(request)
      return sendList(reply, wanted, {
        read: (page) => deployments.list(teamId, { environment }, page),
        answer: (items) => ({ deployments: items.map(listedDeployment) }),
      })
    },
  )

  app.get(
    '/v1/deployments/:slug',
    defineRoute('deployments.get', ANY_MEMBER, {
      params: SlugParams,
      response: { 200: DeploymentSchema, ...errorResponses(401, 404) },
    }),
    async (request) =>
      deploymentAnswer(await deployments.get(userCaller(request).teamId, request.params.slug)),
  )

  app.patch(
    '/v1/deployments/:slug',
    defineRoute('deployments.update', OWNER_OR_ADMIN, {
      bodyLimit,
      params: SlugParams,
      body: UpdateDeploymentRequest,
      response: {
        200: DeploymentSchema,
        202: ChangeRequest,
        ...errorResponses(400, 401, 403, 404, 409, 413, 415),
      },
    }),
    async (request, reply) => {
      const { name, is_active: isActive, strict_mode: strictMode } = request.body
      const { require_approval: requireApproval, emergency_rollback: emergencyRollback } =
        request.body
      const { cutoff } = request.body
      const wanted = { name, isActive, strictMode, requireApproval, emergencyRollback, cutoff }
      const outcome = await deployments.update(userCaller(request), request.params.slug, wanted)
      return outcomeAnswer(outcome, reply, deploymentAnswer)
    },
  )

  app.patch(
    '/v1/deployments/:slug/traffic',
    defineRoute('deployments.traffic', OWNER_OR_ADMIN, {
      bodyLimit,
      params: SlugParams,
      body: TrafficRequest,
      response: changeAnswers(TrafficResult),
      takesIdempotencyKey: true,
    }),
    async (request, reply) => {
      if (request.body === undefined) {
        throw new AppError('invalid_request', 'the body is empty: send a JSON object')
      }
      const { slug } = request.params
      const outcome = await deployments.manageTraffic(userCaller(request), slug, request.body)
      return outcomeAnswer(outcome, reply, ({ action, deployment, challenger, features }) => ({
        deployment_id: deployment.id,
        action,
        ...(challenger !== null && { challenger: trafficChallenger(challenger) }),
        ...(action === 'toggle_shadow' && { shadow_mode: deployment.shadowMode }),
        cache_version: deployment.cacheVersion,
        ...featuresField(features),
      }))
    },
  )

  app.post(
    '/v1/deployments/:slug/promote',
    defineRoute('deployments.promote', OWNER_OR_ADMIN, {
      bodyLimit,
      params: SlugParams,
      body: PromoteRequest,
      response: changeAnswers(PromoteResult),
      takesIdempotencyKey: true,
    }),
    async (request, reply) => {
      const { challenger_id: challengerId, reason, accept_features: acceptFeatures } = request.body
      const { slug } = request.params
      const order = { action: 'promote', challengerId, reason, acceptFeatures } as const
      const outcome = await deployments.promote(userCaller(request), slug, () => order)
      return outcomeAnswer(outcome, reply, (succession) => ({
        deployment_id: succession.after.id,
        ...promotedAnswer(succession),
      }))
    },
  )

  app.post(
    '/v1/deployments/:slug/rollback',
    defineRoute('deployments.rollback', OWNER_OR_ADMIN, {
      bodyLimit,
      params: SlugParams,
      body: RollbackRequest,
      response: changeAnswers(RollbackResult),
      takesIdempotencyKey: true,
    }),
    async (request, reply) => {
      const { slug } = request.params
      const outcome = await deployments.rollBack(userCaller(request), slug, request.body)
      return outcomeAnswer(outcome, reply, (succession) => ({
        deployment_id: succession.after.id,
        ...rolledBackAnswer(succession),
      }))
    },
  )

  // Under `/api/v1`, deployments are scorecards and versions name challengers.
  app.get(
    '/api/v1/scorecards',
    defineRoute('scorecards.list', MEMBER_OR_READING_KEY, {
      querystring: ScorecardsQuery,
      response: { 200: ScorecardList, ...errorResponses(400, 401) },
    }),
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
    defineRoute('scorecards.add_challenger', OWNER_OR_ADMIN, {
      bodyLimit,
      params: ScorecardParams,
      body: ScorecardChallengerRequest,
      response: changeAnswers(AddScorecardChallengerResult),
      takesIdempotencyKey: true,
    }),
    async (request, reply) => {
      if (request.body === undefined) {
        throw new AppError('invalid_request', 'the body is empty: send a JSON object')
      }
      const { scorecard_id: id } = request.params
      const outcome = await scorecards.addChallenger(userCaller(request), id, request.body)
      return outcomeAnswer(outcome, reply, ({ deployment, challenger, features }) => ({
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
        ...featuresField(features),
      }))
    },
  )

  app.delete(
    '/api/v1/scorecards/:scorecard_id/challengers/:version',
    defineRoute('scorecards.remove_challenger', OWNER_OR_ADMIN, {
      params: ChallengerParams,
      response: changeAnswers(RemoveScorecardChallengerResult),
      takesIdempotencyKey: true,
    }),
    async (request, reply) => {
      const { scorecard_id: id, version } = request.params
      const outcome = await scorecards.removeChallenger(userCaller(request), id, version)
      return outcomeAnswer(outcome, reply, ({ deployment, challenger, features }) => ({
        scorecard_id: deployment.id,
        action: 'remove_challenger' as const,
        challenger: trafficChallenger(challenger),
        cache_version: deployment.cacheVersion,
        ...featuresField(features),
      }))
    },
  )

  app.post(
    '/api/v1/scorecards/:scorecard_id/promote',
    defineRoute('scorecards.promote', OWNER_OR_ADMIN, {
      bodyLimit,
      params: ScorecardParams,
      body: PromoteVersionRequest,
      response: changeAnswers(ScorecardPromoteResult),
      takesIdempotencyKey: true,
    }),
    async (request, reply) => {
      const { scorecard_id: id } = request.params
      const outcome = await scorecards.promote(userCaller(request), id, request.body)
      return outcomeAnswer(outcome, reply, (succession) => ({
        scorecard_id: succession.after.id,
        ...promotedAnswer(succession),
      }))
    },
  )

  app.post(
    '/api/v1/scorecards/:scorecard_id/rollback',
    defineRoute('scorecards.rollback', OWNER_OR_ADMIN, {
      bodyLimit,
      params: ScorecardParams,
      body: ScorecardRollbackBody,
      response: changeAnswers(ScorecardRollbackResult),
      takesIdempotencyKey: true,
      isBodyOptional: true,
    }),
    async (request, reply) => {
      const { scorecard_id: id } = request.params
      const outcome = await deployments.rollBack(userCaller(request), id, request.body ?? {})
      return outcomeAnswer(outcome, reply, (succession) => ({
        scorecard_id: succession.after.id,
        ...rolledBackAnswer(succession),
      }))
    },
  )
}

/** Answers of a change, which may have to wait for approval. */
function changeAnswers<Done extends TSchema>(done: Done) {
  return {
    200: done,
    202: ChangeRequest,
    ...errorResponses(400, 401, 403, 404, 409, 413, 415, 422),
  }
}

function listedDeployment({ id, name, isActive, champion, createdAt }: DeploymentSummary) {
  return {
    id,
    slug: id,
    name,
    is_active: isActive,
    champion_model: champion,
    created_at: createdAt.toISOString(),
  }
}

function deploymentAnswer(deployment: Deployment) {
  return {
    id: deployment.id,
    slug: deployment.id,
    name: deployment.name,
    is_active: deployment.isActive,
    champion_model: deployment.champion,
    ...(deployment.previousChampion && { previous_champion_model: deployment.previousChampion }),
    challengers: deployment.challengers.map((challenger) => ({
      id: challenger.id,
      model_id: challenger.model.id,
      model_name: challenger.model.name,
      model_version: challenger.model.version,
      traffic_pct: challenger.trafficPct,
      is_active: challenger.isActive,
      added_at: challenger.addedAt.toISOString(),
    })),
    shadow_mode: deployment.shadowMode,
    strict_mode: deployment.strictMode,
    require_approval: deployment.requireApproval,
    emergency_rollback: deployment.emergencyRollback,
    cutoff: deployment.cutoff,
    cache_version: deployment.cacheVersion,
    ...(deployment.requireApproval && { possible_alone: possibleAlone(deployment) }),
    created_at: deployment.createdAt.toISOString(),
  }
}

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
