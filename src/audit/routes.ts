import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { AuditExportQuery, AuditLog, AuditLogQuery } from '../../schemas/auditlog.ts'
import { errorResponses } from '../../schemas/errors.ts'
import { OWNER_OR_ADMIN } from '../access/caller.ts'
import { userCaller } from '../access/request-caller.ts'
import { sendList } from '../http/list.ts'
import { sendChunks } from '../http/text-stream.ts'
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

  app.get(
    '/v1/audit-log/export',
    {
      schema: {
        querystring: AuditExportQuery,
        response: { 200: Type.String(), ...errorResponses(400, 401, 403) },
      },
      config: { operation: 'audit_log.export', access: OWNER_OR_ADMIN },
    },
    (request, reply) => {
      const lines = linesOf(auditLog.export(userCaller(request), request.query.after))
      return sendChunks(reply, lines, {
        what: 'an export',
        headers: {
          'content-type': 'application/x-ndjson; charset=utf-8',
          'content-disposition': 'attachment; filename="audit-log.ndjson"',
          'x-content-type-options': 'nosniff',
        },
      })
    },
  )
}

/** NDJSON: one record a line, in the form of the list. */
async function* linesOf(parts: AsyncIterable<readonly AuditRecord[]>): AsyncGenerator<string> {
  for await (const records of parts) {
    yield records.map((record) => `${JSON.stringify(exportedRecord(record))}\n`).join('')
  }
}

function exportedRecord(record: AuditRecord) {
  const { id, actor, action, subject, before, after, reason, createdAt } = record
  return {
    id,
    actor,
    action,
    subject,
    before,
    after,
    reason,
    created_at: createdAt.toISOString(),
  }
}

function listedRecord({ createdAt, ...record }: AuditRecord) {
  return { ...record, created_at: createdAt.toISOString() }
}
