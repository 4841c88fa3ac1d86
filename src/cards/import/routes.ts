import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import { errorResponses } from '../../../schemas/errors.ts'
import { ImportRequest, ImportResult } from '../../../schemas/import.ts'
import { ANALYSTS, DEPLOYER_ROLES } from '../../http/access/caller.ts'
import { insufficientRole } from '../../http/access/manager.ts'
import { userCaller } from '../../http/access/request-caller.ts'
import { signalWhileConnected } from '../../http/connected.ts'
import { defineRoute } from '../../http/define-route.ts'
import { addressedUrl } from '../../http/host.ts'
import { JSON_TYPE } from '../../http/reply.ts'
import { deployedFields } from '../../registry/models/responses.ts'
import { makeImportInput } from './request.ts'
import type { ImportService } from './service.ts'

interface ImportRouteOptions {
  readonly imports: ImportService
  /** Base of the scoring URLs in responses; null for the URL that the caller used. */
  readonly publicUrl: string | null
}

export const importRoutes: FastifyPluginAsyncTypebox<ImportRouteOptions> = async (
  app,
  { imports, publicUrl },
) => {
  app.post(
    '/v1/models/import',
    defineRoute('models.import', ANALYSTS, {
      body: ImportRequest,
      response: { 200: ImportResult, ...errorResponses(400, 401, 403, 409, 413, 415, 422) },
      takesIdempotencyKey: true,
      takesCard: true,
    }),
    async (request, reply) => {
      const { register } = request.body
      const caller = userCaller(request)
      // A check stores nothing.
      if (register !== undefined && !DEPLOYER_ROLES.includes(caller.role)) {
        throw insufficientRole(DEPLOYER_ROLES)
      }
      const { answer, deployed } = await imports.import(
        caller,
        makeImportInput(request.body),
        register === undefined ? null : readRegister(register),
        signalWhileConnected(request, reply),
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

function readRegister(register: NonNullable<Static<typeof ImportRequest>['register']>) {
  const { environment, description, auto_deploy: autoDeploy } = register
  const { accept_unreached: acceptsUnreached = false } = register
  return { environment, description: description ?? null, autoDeploy, acceptsUnreached }
}
