import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { ChangeRequest } from '../../schemas/change-requests.ts'
import {
  DeploymentList,
  Deployment as DeploymentSchema,
  DeploymentsQuery,
  PromoteRequest,
  PromoteResult,
  RollbackRequest,
  RollbackResult,
  TrafficRequest,
  TrafficResult,
  UpdateDeploymentRequest,
} from '../../schemas/deployments.ts'
import { errorResponses } from '../../schemas/errors.ts'
import { ANY_MEMBER, OWNER_OR_ADMIN } from '../access/caller.ts'
import { userCaller } from '../access/request-caller.ts'
import { AppError } from '../errors.ts'
import { bodyLimitOf } from '../http/body-limit.ts'
import { sendList } from '../http/list.ts'
import type { Deployment } from './deployment.ts'
import { outcomeAnswer, promotedAnswer, rolledBackAnswer, trafficChallenger } from './responses.ts'
import type { DeploymentService, DeploymentSummary } from './service.ts'

interface DeploymentRouteOptions {
  readonly deployments: DeploymentService
}

const BODY_BYTES_MAX = 64 * 1024
const SlugParams = Type.Object({ slug: Type.String() })

/** Management of deployments. */
export const deploymentRoutes: FastifyPluginAsyncTypebox<DeploymentRouteOptions> = async (
  app,
  { deployments },
) => {
  const bodyLimit = bodyLimitOf(app, BODY_BYTES_MAX)

  app.get(
    '/v1/deployments',
    {
      schema: {
        querystring: DeploymentsQuery,
        response: { 200: DeploymentList, ...errorResponses(400, 401) },
      },
      config: { operation: 'deployments.list', access: ANY_MEMBER },
    },
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
    {
      schema: {
        params: SlugParams,
        response: { 200: DeploymentSchema, ...errorResponses(401, 404) },
      },
      config: { operation: 'deployments.get', access: ANY_MEMBER },
    },
    async (request) =>
      deploymentAnswer(await deployments.get(userCaller(request).teamId, request.params.slug)),
  )

  app.patch(
    '/v1/deployments/:slug',
    {
      bodyLimit,
      schema: {
        params: SlugParams,
        body: UpdateDeploymentRequest,
        response: {
          200: DeploymentSchema,
          202: ChangeRequest,
          ...errorResponses(400, 401, 403, 404, 409, 413, 415),
        },
      },
      config: { operation: 'deployments.update', access: OWNER_OR_ADMIN },
    },
    async (request, reply) => {
      const { name, is_active: isActive, strict_mode: strictMode } = request.body
      const { require_approval: requireApproval, emergency_rollback: emergencyRollback } =
        request.body
      const wanted = { name, isActive, strictMode, requireApproval, emergencyRollback }
      const outcome = await deployments.update(userCaller(request), request.params.slug, wanted)
      return outcomeAnswer(outcome, (status) => reply.code(status), deploymentAnswer)
    },
  )

  app.patch(
    '/v1/deployments/:slug/traffic',
    {
      bodyLimit,
      schema: {
        params: SlugParams,
        body: TrafficRequest,
        response: {
          200: TrafficResult,
          202: ChangeRequest,
          ...errorResponses(400, 401, 403, 404, 409, 413, 415, 422),
        },
      },
      config: {
        operation: 'deployments.traffic',
        access: OWNER_OR_ADMIN,
        takesIdempotencyKey: true,
      },
    },
    async (request, reply) => {
      if (request.body === undefined) {
        throw new AppError('invalid_request', 'the body is empty: send a JSON object')
      }
      const { slug } = request.params
      const outcome = await deployments.manageTraffic(userCaller(request), slug, request.body)
      return outcomeAnswer(
        outcome,
        (status) => reply.code(status),
        ({ action, deployment, challenger }) => ({
          deployment_id: deployment.id,
          action,
          ...(challenger !== null && { challenger: trafficChallenger(challenger) }),
          ...(action === 'toggle_shadow' && { shadow_mode: deployment.shadowMode }),
          cache_version: deployment.cacheVersion,
        }),
      )
    },
  )

  app.post(
    '/v1/deployments/:slug/promote',
    {
      bodyLimit,
      schema: {
        params: SlugParams,
        body: PromoteRequest,
        response: {
          200: PromoteResult,
          202: ChangeRequest,
          ...errorResponses(400, 401, 403, 404, 409, 413, 415, 422),
        },
      },
      config: {
        operation: 'deployments.promote',
        access: OWNER_OR_ADMIN,
        takesIdempotencyKey: true,
      },
    },
    async (request, reply) => {
      const { challenger_id: challengerId, reason } = request.body
      const { slug } = request.params
      const order = { action: 'promote', challengerId, reason } as const
      const outcome = await deployments.promote(userCaller(request), slug, () => order)
      return outcomeAnswer(
        outcome,
        (status) => reply.code(status),
        (succession) => ({ deployment_id: succession.after.id, ...promotedAnswer(succession) }),
      )
    },
  )

  app.post(
    '/v1/deployments/:slug/rollback',
    {
      bodyLimit,
      schema: {
        params: SlugParams,
        body: RollbackRequest,
        response: {
          200: RollbackResult,
          202: ChangeRequest,
          ...errorResponses(400, 401, 403, 404, 409, 413, 415, 422),
        },
      },
      config: {
        operation: 'deployments.rollback',
        access: OWNER_OR_ADMIN,
        takesIdempotencyKey: true,
      },
    },
    async (request, reply) => {
      const { slug } = request.params
      const outcome = await deployments.rollBack(userCaller(request), slug, request.body)
      return outcomeAnswer(
        outcome,
        (status) => reply.code(status),
        (succession) => ({ deployment_id: succession.after.id, ...rolledBackAnswer(succession) }),
      )
    },
  )
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
    cache_version: deployment.cacheVersion,
    created_at: deployment.createdAt.toISOString(),
  }
}
