import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { CopyModelRequest } from '../../../../schemas/copies.ts'
import { errorResponses } from '../../../../schemas/errors.ts'
import { DeployResult } from '../../../../schemas/models.ts'
import { DEPLOYERS } from '../../../http/access/caller.ts'
import { userCaller } from '../../../http/access/request-caller.ts'
import { defineRoute, limitBodies } from '../../../http/define-route.ts'
import { addressedUrl } from '../../../http/host.ts'
import { deployedFields } from '../responses.ts'
import type { ModelCopyService } from './service.ts'

interface ModelCopyRouteOptions {
  readonly modelCopies: ModelCopyService
  /** Base of the scoring URLs in responses; null means the address that the caller used. */
  readonly publicUrl: string | null
}

const BODY_BYTES_MAX = 64 * 1024
const ModelParams = Type.Object({ id: Type.String() })

/** Copies of models in the other environment. */
export const modelCopyRoutes: FastifyPluginAsyncTypebox<ModelCopyRouteOptions> = async (
  app,
  { modelCopies, publicUrl },
) => {
  limitBodies(app, BODY_BYTES_MAX)

  app.post(
    '/v1/models/:id/copies',
    defineRoute('models.copy', DEPLOYERS, {
      params: ModelParams,
      body: CopyModelRequest,
      response: { 201: DeployResult, ...errorResponses(400, 401, 403, 404, 409, 413, 415, 422) },
      takesIdempotencyKey: true,
    }),
    async (request, reply) => {
      const { environment, description, auto_deploy: autoDeploy = false } = request.body
      const order = { environment, description, autoDeploy }
      const copied = await modelCopies.copy(userCaller(request), request.params.id, order)
      reply.code(201)
      return deployedFields(copied, publicUrl ?? addressedUrl(request))
    },
  )
}
