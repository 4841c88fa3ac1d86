import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { AuditLog, AuditLogQuery } from '../../schemas/auditlog.ts'
import { errorResponses } from '../../schemas/errors.ts'
import { OWNER_OR_ADMIN } from '../auth/caller.ts'
import { userCaller } from '../auth/plugin.ts'
import { nextCursor } from '../http/reply.ts'
import type { AuditLogService } from './service.ts'

interface AuditLogRouteOptions {
  readonly auditLog: AuditLogService
}

/** Reading who changed what. */
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
    async (request) => {
      const { teamId } = userCaller(request)
      const { subject, ...page } = request.query
      const { items, nextCursor: next } = await auditLog.list(teamId, { subject }, page)
      return {
        records: items.map(({ createdAt, ...record }) => ({
          ...record,
          created_at: createdAt.toISOString(),
        })),
        ...nextCursor(next),
      }
    },
  )
}
