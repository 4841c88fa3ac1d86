import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { preValidationHookHandler } from 'fastify'
import { listQuery } from '../../../schemas/common.ts'
import { errorResponses } from '../../../schemas/errors.ts'
import {
  CreatedKey,
  CreateKeyRequest,
  KeyList,
  ListedKey,
  OVERLAP_SECONDS,
  RotatedKey,
  RotateKeyRequest,
  UpdateKeyRequest,
} from '../../../schemas/keys.ts'
import { ANY_MEMBER, OWNER_OR_ADMIN } from '../../http/access/caller.ts'
import { userCaller } from '../../http/access/request-caller.ts'
import { defineRoute, limitBodies } from '../../http/define-route.ts'
import { sendList } from '../../http/reply.ts'
import { forbidStoring } from '../auth/plugin.ts'
import { keyFields, listedKey } from './key.ts'
import { type KeyService, refuseQuotaUnlessOwner } from './service.ts'

const BODY_BYTES_MAX = 64 * 1024
const ListKeysQuery = listQuery({})
const KeyParams = Type.Object({ id: Type.String() })

export const keyRoutes: FastifyPluginAsyncTypebox<{ readonly keys: KeyService }> = async (
  app,
  { keys },
) => {
  limitBodies(app, BODY_BYTES_MAX)

  app.post(
    '/v1/keys',
    defineRoute('keys.create', OWNER_OR_ADMIN, {
      body: CreateKeyRequest,
      response: { 201: CreatedKey, ...errorResponses(400, 401, 403, 409, 413, 415, 422) },
      takesIdempotencyKey: true,
      preValidation: checkQuota,
    }),
    async (request, reply) => {
      const { name, scopes, environment, rate_limit_per_minute: rateLimitPerMinute } = request.body
      const { expires_at: expiresAt, allowed_addresses: allowedAddresses } = request.body
      const newKey = {
        name,
        scopes,
        environment,
        rateLimitPerMinute,
        expiresAt,
        allowedAddresses,
      }
      const { key, keySecret } = await keys.issue(userCaller(request), newKey)
      forbidStoring(reply)
      reply.code(201)
      return { ...keyFields(key), key: keySecret }
    },
  )

  app.get(
    '/v1/keys',
    defineRoute('keys.list', ANY_MEMBER, {
      querystring: ListKeysQuery,
      response: { 200: KeyList, ...errorResponses(400, 401) },
    }),
    (request, reply) => {
      const { teamId } = userCaller(request)
      return sendList(reply, request.query, {
        read: (page) => keys.list(teamId, page),
        answer: (items) => ({ keys: items.map(listedKey) }),
      })
    },
  )

  app.post(
    '/v1/keys/:id/rotate',
    defineRoute('keys.rotate', OWNER_OR_ADMIN, {
      params: KeyParams,
      body: RotateKeyRequest,
      response: { 200: RotatedKey, ...errorResponses(400, 401, 403, 404, 409, 413, 415, 422) },
      takesIdempotencyKey: true,
    }),
    async (request, reply) => {
      const { overlap_seconds: overlapSeconds = OVERLAP_SECONDS, expires_at: expiresAt } =
        request.body
      const order = { overlapSeconds, expiresAt }
      const rotated = await keys.rotate(userCaller(request), request.params.id, order)
      const { key, keySecret, previousUntil } = rotated
      forbidStoring(reply)
      return {
        ...keyFields(key),
        key: keySecret,
        ...(previousUntil && { previous_valid_until: previousUntil.toISOString() }),
      }
    },
  )

  app.patch(
    '/v1/keys/:id',
    defineRoute('keys.update', OWNER_OR_ADMIN, {
      params: KeyParams,
      body: UpdateKeyRequest,
      response: { 200: ListedKey, ...errorResponses(400, 401, 403, 404, 413, 415) },
      preValidation: checkQuota,
    }),
    async (request) => {
      const { name, rate_limit_per_minute: rateLimitPerMinute } = request.body
      const wanted = {
        ...(name !== undefined && { name }),
        ...(rateLimitPerMinute !== undefined && { rateLimitPerMinute }),
      }
      return listedKey(await keys.update(userCaller(request), request.params.id, wanted))
    },
  )

  app.delete(
    '/v1/keys/:id',
    defineRoute('keys.revoke', OWNER_OR_ADMIN, {
      params: KeyParams,
      response: { 204: Type.Null(), ...errorResponses(400, 401, 403, 404, 413, 415) },
    }),
    async (request, reply) => {
      await keys.revoke(userCaller(request), request.params.id)
      return reply.code(204).send(null)
    },
  )
}

/** Runs before validation, because 403 takes precedence over 400. */
const checkQuota: preValidationHookHandler = (request, _reply, done) => {
  if (Object.hasOwn(Object(request.body), 'rate_limit_per_minute')) {
    refuseQuotaUnlessOwner(userCaller(request).role)
  }
  done()
}
