import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import { errorResponses } from '../../schemas/errors.ts'
import { ImportRequest, ImportResult } from '../../schemas/import.ts'
import { DEPLOYERS } from '../access/caller.ts'
import { userCaller } from '../access/request-caller.ts'
import { addressedUrl } from '../http/addressed-url.ts'
import { JSON_TYPE } from '../http/reply.ts'
import { deployedFields } from '../models/responses.ts'
import { importInputOf } from './request.ts'
import type { ImportService } from './service.ts'

interface ImportRouteOptions {
  readonly imports: ImportService
  /** Base of the scoring URLs in responses; null for the URL that the caller used. */
  readonly publicUrl: string | null
}

/** Routes that import scorecards of other tools. */
export const importRoutes: FastifyPluginAsyncTypebox<ImportRouteOptions> = async (
  app,
  { imports, publicUrl },
) => {
  app.post(
    '/v1/models/import',
    {
      schema: {
        body: ImportRequest,
        response: { 200: ImportResult, ...errorResponses(400, 401, 403, 409, 413, 415, 422) },
      },
      config: { operation: 'models.import', access: DEPLOYERS, takesIdempotencyKey: true },
    },
    async (request, reply) => {
      const { register } = request.body
      const { answer, deployed } = await imports.import(
        userCaller(request),
        importInputOf(request.body),
        register === undefined ? null : registerOf(register),
      )
      const url = publicUrl ?? addressedUrl(request)
      const registered = JSON.stringify(deployed && deployedFields(deployed, url))
      // Sent without the response schema, which does not know the labels that are stored in bins.
      const open = answer.subarray(0, -1)
      return reply
        .type(JSON_TYPE)
        .send(Buffer.concat([open, Buffer.from(`,"registered":${registered}}`)]))
    },
  )
}

function registerOf(register: NonNullable<Static<typeof ImportRequest>['register']>) {
  const { environment, description, auto_deploy: autoDeploy } = register
  return { environment, description: description ?? null, autoDeploy }
}
