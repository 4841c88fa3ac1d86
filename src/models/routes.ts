import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { errorResponses } from '../../schemas/errors.ts'
import {
  DeployRequest,
  DeployResult,
  ModelList,
  Model as ModelSchema,
  ModelsQuery,
  UpdatedModel,
  UpdateModelRequest,
} from '../../schemas/models.ts'
import { ANY_MEMBER, DEPLOYERS, OWNER_OR_ADMIN } from '../auth/caller.ts'
import { userCaller } from '../auth/plugin.ts'
import { addressedUrl } from '../http/addressed-url.ts'
import { JSON_TYPE, nextCursor } from '../http/reply.ts'
import { deployedFields } from './answers.ts'
import type { Model, ModelService } from './service.ts'

interface ModelRouteOptions {
  readonly models: ModelService
  /** Base of the scoring URLs in answers; null: as the caller addressed the service. */
  readonly publicUrl: string | null
}

const BODY_BYTES_MAX = 16 * 1024
const ModelParams = Type.Object({ id: Type.String() })

/** Management of scorecard models. */
export const modelRoutes: FastifyPluginAsyncTypebox<ModelRouteOptions> = async (
  app,
  { models, publicUrl },
) => {
  app.post(
    '/v1/models/deploy',
    {
      schema: {
        body: DeployRequest,
        response: { 200: DeployResult, ...errorResponses(400, 401, 403, 413, 415, 422) },
      },
      config: { operation: 'models.deploy', access: DEPLOYERS },
    },
    async (request) => {
      const { spec, environment, description, auto_deploy: autoDeploy } = request.body
      const deployed = await models.deploy(userCaller(request), {
        spec,
        environment,
        description: description ?? null,
        autoDeploy,
      })
      return deployedFields(deployed, publicUrl ?? addressedUrl(request))
    },
  )

  app.get(
    '/v1/models',
    {
      schema: {
        querystring: ModelsQuery,
        response: { 200: ModelList, ...errorResponses(400, 401) },
      },
      config: { operation: 'models.list', access: ANY_MEMBER },
    },
    async (request) => {
      const { environment, status, ...page } = request.query
      const { teamId } = userCaller(request)
      const { items, nextCursor: next } = await models.list(teamId, { environment, status }, page)
      return { models: items.map(listedModel), ...nextCursor(next) }
    },
  )

  app.get(
    '/v1/models/:id',
    {
      schema: {
        params: ModelParams,
        response: { 200: ModelSchema, ...errorResponses(401, 404) },
      },
      config: { operation: 'models.get', access: ANY_MEMBER },
    },
    async (request, reply) => {
      const { teamId } = userCaller(request)
      const { model, specText, parityText } = await models.get(teamId, request.params.id)
      const fields = JSON.stringify(listedModel(model)).slice(0, -1)
      // Byte for byte as it is stored, which writing it anew would not promise.
      const parity = parityText === null ? '' : `,"parity":${parityText}`
      return reply.type(JSON_TYPE).send(`${fields},"spec":${specText}${parity}}`)
    },
  )

  app.patch(
    '/v1/models/:id',
    {
      bodyLimit: Math.min(BODY_BYTES_MAX, app.initialConfig.bodyLimit ?? BODY_BYTES_MAX),
      schema: {
        params: ModelParams,
        body: UpdateModelRequest,
        response: { 200: UpdatedModel, ...errorResponses(400, 401, 403, 404, 409, 413, 415) },
      },
      config: { operation: 'models.update', access: OWNER_OR_ADMIN },
    },
    async (request) => {
      const { id } = request.params
      const model = await models.setStatus(userCaller(request), id, request.body.status)
      return {
        id: model.id,
        name: model.name,
        version: model.version,
        status: model.status,
        updated_at: model.updatedAt.toISOString(),
      }
    },
  )
}

function listedModel(model: Model) {
  return {
    id: model.id,
    name: model.name,
    version: model.version,
    spec_version: model.specVersion,
    status: model.status,
    environment: model.environment,
    description: model.description,
    deployed_by: model.deployedBy,
    created_at: model.createdAt.toISOString(),
  }
}
