import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { preValidationHookHandler } from 'fastify'
import { listQuery } from '../../../schemas/common.ts'
import { errorResponses } from '../../../schemas/errors.ts'
import {
  CreateMemberRequest,
  MemberList,
  Member as MemberSchema,
  UpdateMemberRequest,
} from '../../../schemas/members.ts'
import {
  MANAGER_OR_AUDITOR,
  OWNER_OR_ADMIN_IN_PERSON,
  roleNamed,
} from '../../http/access/caller.ts'
import { userCaller } from '../../http/access/request-caller.ts'
import { defineRoute, limitBodies } from '../../http/define-route.ts'
import { sendList } from '../../http/reply.ts'
import { type MemberService, refuseAbove } from './members.ts'
import { memberFields } from './responses.ts'

const BODY_BYTES_MAX = 16 * 1024
const ListMembersQuery = listQuery({})
const MemberParams = Type.Object({ id: Type.String() })

/** Management of a team's members. */
export const memberRoutes: FastifyPluginAsyncTypebox<{ readonly members: MemberService }> = async (
  app,
  { members },
) => {
  limitBodies(app, BODY_BYTES_MAX)

  app.get(
    '/v1/members',
    defineRoute('members.list', MANAGER_OR_AUDITOR, {
      querystring: ListMembersQuery,
      response: { 200: MemberList, ...errorResponses(400, 401, 403) },
    }),
    (request, reply) => {
      const { teamId } = userCaller(request)
      return sendList(reply, request.query, {
        read: (page) => members.list(teamId, page),
        answer: (items) => ({ members: items.map(memberFields) }),
      })
    },
  )

  app.post(
    '/v1/members',
    defineRoute('members.create', OWNER_OR_ADMIN_IN_PERSON, {
      body: CreateMemberRequest,
      response: { 201: MemberSchema, ...errorResponses(400, 401, 403, 409, 413, 415, 422) },
      takesIdempotencyKey: true,
      preValidation: refuseRoleAbove,
    }),
    async (request, reply) => {
      const member = await members.create(userCaller(request), request.body)
      reply.code(201)
      return memberFields(member)
    },
  )

  app.patch(
    '/v1/members/:id',
    defineRoute('members.update', OWNER_OR_ADMIN_IN_PERSON, {
      params: MemberParams,
      body: UpdateMemberRequest,
      response: { 200: MemberSchema, ...errorResponses(400, 401, 403, 404, 409, 413, 415) },
      preValidation: refuseRoleAbove,
    }),
    async (request) => {
      const { id } = request.params
      return memberFields(await members.setRole(userCaller(request), id, request.body.role))
    },
  )

  app.delete(
    '/v1/members/:id',
    defineRoute('members.delete', OWNER_OR_ADMIN_IN_PERSON, {
      params: MemberParams,
      response: { 204: Type.Null(), ...errorResponses(400, 401, 403, 404, 409, 413, 415) },
    }),
    async (request, reply) => {
      await members.remove(userCaller(request), request.params.id)
      return reply.code(204).send(null)
    },
  )
}

/** Runs before validation, because 403 takes precedence over 400. */
const refuseRoleAbove: preValidationHookHandler = (request, _reply, done) => {
  const requested: unknown = Object(request.body).role
  const role = roleNamed(requested)
  if (role !== null) refuseAbove(userCaller(request).role, role)
  done()
}
