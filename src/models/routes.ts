import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { errorResponses } from '../../schemas/errors.ts'
import { DeployRequest, DeployResult } from '../../schemas/models.ts'
import { DEPLOYERS } from '../auth/caller.ts'
import { userCaller } from '../auth/plugin.ts'
import type { ModelService } from './service.ts'

interface ModelRouteOptions {
  readonly models: ModelService
  /** Base of the scoring URLs in answers; null: as the caller addressed the service. */
  readonly publicUrl: string | null
}

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
      const { model, deployment, warnings } = await models.deploy(userCaller(request), {
        spec,
        environment,
        description: description ?? null,
        autoDeploy,
      })
      const baseUrl = publicUrl ?? addressedUrl(request)
      return {
        model_id: model.id,
        name: model.name,
        version: model.version,
        deployment: deployment && {
          id: deployment.id,
          slug: deployment.id,
          endpoint: `${baseUrl}/v1/score/${deployment.id}`,
          status: 'active' as const,
        },
        ...(warnings.length > 0 && { spec_warnings: [...warnings] }),
      }
    },
  )
}

/** The service as the caller addressed it; without a Host header, as the connection arrived. */
function addressedUrl({ protocol, host, socket }: FastifyRequest): string {
  return `${protocol}://${host || `${socket.localAddress}:${socket.localPort}`}`
}
