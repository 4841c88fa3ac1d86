import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import { errorResponses } from '../../schemas/errors.ts'
import { ImportRequest, ImportResult } from '../../schemas/import.ts'
import { DEPLOYERS } from '../auth/caller.ts'
import { userCaller } from '../auth/plugin.ts'
import { addressedUrl } from '../http/addressed-url.ts'
import { JSON_TYPE } from '../http/reply.ts'
import { deployedFields } from '../models/answers.ts'
import { orderOf } from './request.ts'
import type { ImportService } from './service.ts'

interface ImportRouteOptions {
  readonly imports: ImportService
  /** Base of the scoring URLs in answers; null: as the caller addressed the service. */
  readonly publicUrl: string | null
}

/** Scorecards that other tools wrote. */
export const importRoutes: FastifyPluginAsyncTypebox<ImportRouteOptions> = async (
  app,
  { imports, publicUrl },
) => {
  app.post(
    '/v1/models/import',
    {
      schema: {
        body: ImportRequest,
        response: { 200: ImportResult, ...errorResponses(400, 401, 403, 413, 415, 422) },
      },
      config: { operation: 'models.import', access: DEPLOYERS },
    },
    async (request, reply) => {
      const { register } = request.body
      const { answer, deployed } = await imports.import(
        userCaller(request),
        orderOf(request.body),
        register === undefined ? null : registerOf(register),
      )
      const url = publicUrl ?? addressedUrl(request)
      const registered = JSON.stringify(deployed && deployedFields(deployed, url))
      // As it would be stored, with the labels that a schema of specifications does not know.
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
