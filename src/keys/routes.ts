import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { preValidationHookHandler } from 'fastify'
import { listQuery } from '../../schemas/common.ts'
import { errorResponses } from '../../schemas/errors.ts'
import { CreatedKey, CreateKeyRequest, KeyList } from '../../schemas/keys.ts'
import { ANY_MEMBER, OWNER_OR_ADMIN } from '../auth/caller.ts'
import { forbidStoring, userCaller } from '../auth/plugin.ts'
import { AppError } from '../errors.ts'
import { nextCursor } from '../http/reply.ts'
import type { KeyInForce, KeyService } from './service.ts'

interface KeyRouteOptions {
  readonly keys: KeyService
}

const BODY_BYTES_MAX = 64 * 1024
const ListKeysQuery = listQuery({})
const KeyParams = Type.Object({ id: Type.String() })

/** Management of API keys. */
export const keyRoutes: FastifyPluginAsyncTypebox<KeyRouteOptions> = async (app, { keys }) => {
  const bodyLimit = Math.min(BODY_BYTES_MAX, app.initialConfig.bodyLimit ?? BODY_BYTES_MAX)

  app.post(
    '/v1/keys',
    {
      bodyLimit,
      schema: {
        body: CreateKeyRequest,
        response: { 201: CreatedKey, ...errorResponses(400, 401, 403, 413, 415, 422) },
      },
      config: { operation: 'keys.create', access: OWNER_OR_ADMIN },
      preValidation: refuseQuotaUnlessOwner,
    },
    async (request, reply) => {
      const { rate_limit_per_minute: rateLimitPerMinute, ...wanted } = request.body
      const order = { ...wanted, rateLimitPerMinute }
      const { key, keySecret } = await keys.issue(userCaller(request), order)
      forbidStoring(reply)
      reply.code(201)
      return { ...fieldsOf(key), key: keySecret }
    },
  )

  app.get(
    '/v1/keys',
    {
      schema: {
        querystring: ListKeysQuery,
        response: { 200: KeyList, ...errorResponses(400, 401) },
      },
      config: { operation: 'keys.list', access: ANY_MEMBER },
    },
    async (request) => {
      const { items, nextCursor: next } = await keys.list(userCaller(request).teamId, request.query)
      return {
        keys: items.map((key) => ({
          ...fieldsOf(key),
          last_used_at: key.lastUsedAt?.toISOString() ?? null,
        })),
        ...nextCursor(next),
      }
    },
  )

  app.delete(
    '/v1/keys/:id',
    {
      bodyLimit,
      schema: {
        params: KeyParams,
        response: { 204: Type.Null(), ...errorResponses(400, 401, 403, 404, 413, 415) },
      },
      config: { operation: 'keys.revoke', access: OWNER_OR_ADMIN },
    },
    async (request, reply) => {
      await keys.revoke(userCaller(request), request.params.id)
      return reply.code(204).send(null)
    },
  )
}

/** Runs before the body is checked: who may not set a quota is told so whatever else is wrong. */
const refuseQuotaUnlessOwner: preValidationHookHandler = (request, _reply, done) => {
  const asksForQuota = Object.hasOwn(Object(request.body), 'rate_limit_per_minute')
  if (asksForQuota && userCaller(request).role !== 'owner') {
    done(new AppError('insufficient_role', 'only an owner may set rate_limit_per_minute'))
  } else {
    done()
  }
}

/** What every answer tells of a key. */
function fieldsOf(key: Omit<KeyInForce, 'lastUsedAt'>) {
  return {
    id: key.id,
    name: key.name,
    prefix: key.keyPrefix,
    scopes: key.scopes,
    environment: key.environment,
    created_at: key.createdAt.toISOString(),
    ...(key.rateLimitPerMinute !== null && { rate_limit_per_minute: key.rateLimitPerMinute }),
  }
}
