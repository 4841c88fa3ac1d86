import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { preValidationHookHandler } from 'fastify'
import { listQuery } from '../../schemas/common.ts'
import { errorResponses } from '../../schemas/errors.ts'
import {
  CreateMemberRequest,
  MemberList,
  Member as MemberSchema,
  UpdateMemberRequest,
} from '../../schemas/members.ts'
import { OWNER_OR_ADMIN, ROLES } from '../auth/caller.ts'
import { userCaller } from '../auth/plugin.ts'
import { nextCursor } from '../http/reply.ts'
import { memberFields } from './answers.ts'
import { type MemberService, refuseAbove } from './service.ts'

interface MemberRouteOptions {
  readonly members: MemberService
}

const BODY_BYTES_MAX = 16 * 1024
const ListMembersQuery = listQuery({})
const MemberParams = Type.Object({ id: Type.String() })

/** Management of a team's members. */
export const memberRoutes: FastifyPluginAsyncTypebox<MemberRouteOptions> = async (
  app,
  { members },
) => {
  const bodyLimit = Math.min(BODY_BYTES_MAX, app.initialConfig.bodyLimit ?? BODY_BYTES_MAX)

  app.get(
    '/v1/members',
    {
      schema: {
        querystring: ListMembersQuery,
        response: { 200: MemberList, ...errorResponses(400, 401, 403) },
      },
      config: { operation: 'members.list', access: OWNER_OR_ADMIN },
    },
    async (request) => {
      const page = await members.list(userCaller(request).teamId, request.query)
      return { members: page.items.map(memberFields), ...nextCursor(page.nextCursor) }
    },
  )

  app.post(
    '/v1/members',
    {
      bodyLimit,
      schema: {
        body: CreateMemberRequest,
        response: { 201: MemberSchema, ...errorResponses(400, 401, 403, 409, 413, 415) },
      },
      config: { operation: 'members.create', access: OWNER_OR_ADMIN },
      preValidation: refuseRoleAbove,
    },
    async (request, reply) => {
      const member = await members.create(userCaller(request), request.body)
      reply.code(201)
      return memberFields(member)
    },
  )

  app.patch(
    '/v1/members/:id',
    {
      bodyLimit,
      schema: {
        params: MemberParams,
        body: UpdateMemberRequest,
        response: { 200: MemberSchema, ...errorResponses(400, 401, 403, 404, 409, 413, 415) },
      },
      config: { operation: 'members.update', access: OWNER_OR_ADMIN },
      preValidation: refuseRoleAbove,
    },
    async (request) => {
      const { id } = request.params
      return memberFields(await members.setRole(userCaller(request), id, request.body.role))
    },
  )

  app.delete(
    '/v1/members/:id',
    {
      bodyLimit,
      schema: {
        params: MemberParams,
        response: { 204: Type.Null(), ...errorResponses(400, 401, 403, 404, 409, 413, 415) },
      },
      config: { operation: 'members.delete', access: OWNER_OR_ADMIN },
    },
    async (request, reply) => {
      await members.remove(userCaller(request), request.params.id)
      return reply.code(204).send(null)
    },
  )
}

/** Runs before the body is checked: who may not grant a role is told so whatever else is wrong. */
const refuseRoleAbove: preValidationHookHandler = (request, _reply, done) => {
  const asked: unknown = Object(request.body).role
  const role = ROLES.find((known) => known === asked)
  if (role !== undefined) refuseAbove(userCaller(request).role, role)
  done()
}
