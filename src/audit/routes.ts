import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { AuditLog, AuditLogQuery } from '../../schemas/auditlog.ts'
import { errorResponses } from '../../schemas/errors.ts'
import { OWNER_OR_ADMIN } from '../access/caller.ts'
import { userCaller } from '../access/request-caller.ts'
import { sendList } from '../http/list.ts'
import type { AuditLogService, AuditRecord } from './service.ts'

interface AuditLogRouteOptions {
  readonly auditLog: AuditLogService
}

/** Reading the audit log. */
export const auditLogRoutes: FastifyPluginAsyncTypebox<AuditLogRouteOptions> = async (
  app,
  { auditLog },
) => {
  app.get(
    '/v1/audit-log',
    {
      schema: {
        querystring: AuditLogQuery,
        response: { 200: AuditLog, ...errorResponses(400, 401, 403) },
      },
      config: { operation: 'audit_log.list', access: OWNER_OR_ADMIN },
    },
    (request, reply) => {
      const { teamId } = userCaller(request)
      const { subject, ...wanted } = request.query
      return sendList(reply, wanted, {
        read: (page) => auditLog.list(teamId, { subject }, page),
        answer: (items) => ({ records: items.map(listedRecord) }),
      })
    },
  )
}

function listedRecord({ createdAt, ...record }: AuditRecord) {
  return { ...record, created_at: createdAt.toISOString() }
}
