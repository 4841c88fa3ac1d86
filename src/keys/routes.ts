import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { errorResponses } from '../../schemas/errors.ts'
import { CreatedKey, CreateKeyRequest } from '../../schemas/keys.ts'
import { OWNER_OR_ADMIN } from '../auth/caller.ts'
import { forbidStoring, userCaller } from '../auth/plugin.ts'
import type { KeyService } from './service.ts'

interface KeyRouteOptions {
  readonly keys: KeyService
}

const BODY_BYTES_MAX = 64 * 1024

/** Management of API keys. */
export const keyRoutes: FastifyPluginAsyncTypebox<KeyRouteOptions> = async (app, { keys }) => {
  app.post(
    '/v1/keys',
    {
      bodyLimit: Math.min(BODY_BYTES_MAX, app.initialConfig.bodyLimit ?? BODY_BYTES_MAX),
      schema: {
        body: CreateKeyRequest,
        response: { 201: CreatedKey, ...errorResponses(400, 401, 403, 413, 415, 422) },
      },
      config: { operation: 'keys.create', access: OWNER_OR_ADMIN },
    },
    async (request, reply) => {
      const { key, keySecret } = await keys.issue(userCaller(request), request.body)
      forbidStoring(reply)
      reply.code(201)
      return {
        id: key.id,
        name: key.name,
        key: keySecret,
        prefix: key.keyPrefix,
        scopes: key.scopes,
        environment: key.environment,
        created_at: key.createdAt.toISOString(),
      }
    },
  )
}
