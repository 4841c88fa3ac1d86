import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import { errorResponses } from '../../../schemas/errors.ts'
import {
  DeployRequest,
  DeployResult,
  ModelList,
  Model as ModelSchema,
  ModelsQuery,
  type ParityProof,
  UpdatedModel,
  UpdateModelRequest,
} from '../../../schemas/models.ts'
import { ANY_MEMBER, DEPLOYERS, OWNER_OR_ADMIN } from '../../http/access/caller.ts'
import { userCaller } from '../../http/access/request-caller.ts'
import { signalWhileConnected } from '../../http/connected.ts'
import { defineRoute, readBodyLimit } from '../../http/define-route.ts'
import { addressedUrl } from '../../http/host.ts'
import { JSON_TYPE, sendList } from '../../http/reply.ts'
import { free } from '../../platform/bytes/free.ts'
import { runInTurns } from '../../platform/turn-taker.ts'
import { deployedFields, encodeSpec } from './responses.ts'
import type { Model, ModelService } from './service.ts'

interface ModelRouteOptions {
  readonly models: ModelService
  /** Base of the scoring URLs in responses; null means the address that the caller used. */
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
    defineRoute('models.deploy', DEPLOYERS, {
      body: DeployRequest,
      response: { 200: DeployResult, ...errorResponses(400, 401, 403, 409, 413, 415, 422) },
      takesIdempotencyKey: true,
      takesCard: true,
    }),
    async (request, reply) => {
      const { spec, environment, description, auto_deploy: autoDeploy, ...check } = request.body
      const deployed = await models.deploy(userCaller(request), {
        spec,
        environment,
        description: description ?? null,
        autoDeploy,
        check,
        signal: signalWhileConnected(request, reply),
      })
      const { parity } = deployed.model
      const fields = deployedFields(deployed, publicUrl ?? addressedUrl(request))
      // `certificateFields` creates it in this form.
      return { ...fields, ...(parity && { parity: parity as Static<typeof ParityProof> }) }
    },
  )

  app.get(
    '/v1/models',
    defineRoute('models.list', ANY_MEMBER, {
      querystring: ModelsQuery,
      response: { 200: ModelList, ...errorResponses(400, 401) },
    }),
    (request, reply) => {
      const { environment, status, ...wanted } = request.query
      const { teamId } = userCaller(request)
      return sendList(reply, wanted, {
        read: (page) => models.list(teamId, { environment, status }, page),
        answer: (items) => ({ models: items.map(listedModel) }),
      })
    },
  )

  app.get(
    '/v1/models/:id',
    defineRoute('models.get', ANY_MEMBER, {
      params: ModelParams,
      response: { 200: ModelSchema, ...errorResponses(401, 404) },
    }),
    async (request, reply) => {
      const { teamId } = userCaller(request)
      const { model, specText, parityText } = await models.get(teamId, request.params.id)
      const fields = JSON.stringify(listedModel(model)).slice(0, -1)
      // Sends the stored bytes; parsing and serialising again might alter them.
      const spec = await runInTurns(encodeSpec(specText), signalWhileConnected(request, reply))
      const parity = parityText === null ? '' : `,"parity":${parityText}`
      const before = Buffer.from(`${fields},"spec_sha256":"${spec.sha256}","spec":`)
      const answer = Buffer.concat([before, ...spec.parts, Buffer.from(`${parity}}`)])
      reply.raw.once('finish', () => free(answer))
      return reply.type(JSON_TYPE).send(answer)
    },
  )

  app.patch(
    '/v1/models/:id',
    defineRoute('models.update', OWNER_OR_ADMIN, {
      bodyLimit: readBodyLimit(app, BODY_BYTES_MAX),
      params: ModelParams,
      body: UpdateModelRequest,
      response: { 200: UpdatedModel, ...errorResponses(400, 401, 403, 404, 409, 413, 415) },
    }),
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
