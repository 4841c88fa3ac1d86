import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { errorResponses } from '../../../schemas/errors.ts'
import { ExportQuery } from '../../../schemas/export.ts'
import { ScorecardSpec } from '../../../schemas/spec.ts'
import { ANY_MEMBER } from '../../http/access/caller.ts'
import { userCaller } from '../../http/access/request-caller.ts'
import { defineRoute } from '../../http/define-route.ts'
import { fileHeaders, JSON_TYPE } from '../../http/reply.ts'
import type { AuditLogService } from '../../identity/audit/service.ts'
import { free } from '../../platform/bytes/free.ts'
import type { ExportFormat } from './export-spec.ts'
import type { ExportService } from './service.ts'

interface ExportRouteOptions {
  readonly exports: ExportService
  readonly auditLog: Pick<AuditLogService, 'note'>
}

const ModelParams = Type.Object({ id: Type.String() })

const FILES: Readonly<Record<ExportFormat, { readonly type: string; readonly ending: string }>> = {
  spec: { type: JSON_TYPE, ending: 'json' },
  sql: { type: 'application/sql; charset=utf-8', ending: 'sql' },
  pmml: { type: 'application/xml; charset=utf-8', ending: 'pmml' },
}

export const exportRoutes: FastifyPluginAsyncTypebox<ExportRouteOptions> = async (
  app,
  { exports, auditLog },
) => {
  app.get(
    '/v1/models/:id/export',
    defineRoute('models.export', ANY_MEMBER, {
      params: ModelParams,
      querystring: ExportQuery,
      response: { 200: ScorecardSpec, ...errorResponses(400, 401, 404, 422) },
    }),
    async (request, reply) => {
      const { id } = request.params
      const { key, number_column, column_case, reason_baseline, ...rest } = request.query
      const { format, content } = await exports.export(userCaller(request).teamId, id, {
        ...rest,
        keys: toList(key),
        numberColumns: toList(number_column),
        columnCase: column_case,
        reasonBaseline: reason_baseline,
      })
      const after = { format, reason_baseline: reason_baseline ?? null }
      await auditLog.note(userCaller(request), { action: 'model.export', subject: id, after })
      if (typeof content !== 'string') reply.raw.once('finish', () => free(content))
      const { type, ending } = FILES[format]
      // A model with this id exists, so the id has only characters that a header can contain.
      return reply.headers(fileHeaders(type, `${id}.${ending}`)).send(content)
    },
  )
}

/** A parameter that appears once arrives as a text. */
function toList(value: string | string[] | undefined): string[] | undefined {
  return typeof value === 'string' ? [value] : value
}
