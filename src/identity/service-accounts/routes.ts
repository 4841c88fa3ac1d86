import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { preValidationHookHandler } from 'fastify'
import { listQuery } from '../../../schemas/common.ts'
import { errorResponses } from '../../../schemas/errors.ts'
import { OVERLAP_SECONDS } from '../../../schemas/keys.ts'
import {
  CreateServiceAccountRequest,
  IssuedServiceAccount,
  RotateServiceAccountRequest,
  ServiceAccountList,
} from '../../../schemas/service-accounts.ts'
import {
  MANAGER_OR_AUDITOR,
  OWNER_OR_ADMIN_IN_PERSON,
  roleNamed,
} from '../../http/access/caller.ts'
import { userCaller } from '../../http/access/request-caller.ts'
import { defineRoute, limitBodies } from '../../http/define-route.ts'
import { sendList } from '../../http/reply.ts'
import { forbidStoring } from '../auth/plugin.ts'
import {
  type Issued,
  refuseUnlessBelow,
  type ServiceAccount,
  type ServiceAccountService,
} from './service.ts'

const BODY_BYTES_MAX = 16 * 1024
const ListQuery = listQuery({})
const AccountParams = Type.Object({ id: Type.String() })

export const serviceAccountRoutes: FastifyPluginAsyncTypebox<{
  readonly serviceAccounts: ServiceAccountService
}> = async (app, { serviceAccounts }) => {
  limitBodies(app, BODY_BYTES_MAX)

  app.post(
    '/v1/service-accounts',
    defineRoute('service_accounts.create', OWNER_OR_ADMIN_IN_PERSON, {
      body: CreateServiceAccountRequest,
      response: {
        201: IssuedServiceAccount,
        ...errorResponses(400, 401, 403, 409, 413, 415, 422),
      },
      takesIdempotencyKey: true,
      preValidation: refuseRoleNotBelow,
    }),
    async (request, reply) => {
      const { name, role, expires_at: expiresAt } = request.body
      const wanted = { name, role, expiresAt }
      const issued = await serviceAccounts.create(userCaller(request), wanted)
      forbidStoring(reply)
      reply.code(201)
      return issuedAnswer(issued)
    },
  )

  app.get(
    '/v1/service-accounts',
    defineRoute('service_accounts.list', MANAGER_OR_AUDITOR, {
      querystring: ListQuery,
      response: { 200: ServiceAccountList, ...errorResponses(400, 401, 403) },
    }),
    (request, reply) => {
      const { teamId } = userCaller(request)
      return sendList(reply, request.query, {
        read: (page) => serviceAccounts.list(teamId, page),
        answer: (items) => ({ service_accounts: items.map(listedAccount) }),
      })
    },
  )

  app.post(
    '/v1/service-accounts/:id/rotate',
    defineRoute('service_accounts.rotate', OWNER_OR_ADMIN_IN_PERSON, {
      params: AccountParams,
      body: RotateServiceAccountRequest,
      response: {
        200: IssuedServiceAccount,
        ...errorResponses(400, 401, 403, 404, 409, 413, 415, 422),
      },
      takesIdempotencyKey: true,
    }),
    async (request, reply) => {
      const { overlap_seconds: overlapSeconds = OVERLAP_SECONDS, expires_at: expiresAt } =
        request.body
      const order = { overlapSeconds, expiresAt }
      const issued = await serviceAccounts.rotate(userCaller(request), request.params.id, order)
      forbidStoring(reply)
      return issuedAnswer(issued)
    },
  )

  app.delete(
    '/v1/service-accounts/:id',
    defineRoute('service_accounts.revoke', OWNER_OR_ADMIN_IN_PERSON, {
      params: AccountParams,
      response: { 204: Type.Null(), ...errorResponses(400, 401, 403, 404, 413, 415) },
    }),
    async (request, reply) => {
      await serviceAccounts.revoke(userCaller(request), request.params.id)
      return reply.code(204).send(null)
    },
  )
}

/** Runs before validation, because 403 takes precedence over 400. */
const refuseRoleNotBelow: preValidationHookHandler = (request, _reply, done) => {
  const role = roleNamed(Object(request.body).role)
  if (role !== null) refuseUnlessBelow(userCaller(request).role, role)
  done()
}

function accountFields(account: Omit<ServiceAccount, 'lastUsedAt'>) {
  return {
    id: account.id,
    name: account.name,
    role: account.role,
    prefix: account.tokenPrefix,
    created_by: account.createdBy,
    created_at: account.createdAt.toISOString(),
    expires_at: account.expiresAt.toISOString(),
  }
}

function listedAccount(account: ServiceAccount) {
  return { ...accountFields(account), last_used_at: account.lastUsedAt?.toISOString() ?? null }
}

function issuedAnswer({ account, token, previousUntil }: Issued) {
  return {
    ...accountFields(account),
    token,
    ...(previousUntil && { previous_valid_until: previousUntil.toISOString() }),
  }
}
