import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { errorResponses } from '../../../schemas/errors.ts'
import { LogExportQuery } from '../../../schemas/scores.ts'
import { OWNER_OR_ADMIN } from '../../access/caller.ts'
import { userCaller } from '../../access/request-caller.ts'
import { sendChunks } from '../../http/text-stream.ts'
import type { ScoreReadingService } from '../service.ts'
import type { LogExportFormat } from './formats.ts'
import type { LogExportService } from './service.ts'

interface LogExportRouteOptions {
  readonly logExports: LogExportService
  readonly scoreReading: Pick<ScoreReadingService, 'requireDeployment'>
}

const TYPES: Readonly<Record<LogExportFormat, string>> = {
  ndjson: 'application/x-ndjson; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
  parquet: 'application/vnd.apache.parquet',
}

/** Exports the score log. */
export const logExportRoutes: FastifyPluginAsyncTypebox<LogExportRouteOptions> = async (
  app,
  { logExports, scoreReading },
) => {
  app.get(
    '/v1/log/export',
    {
      schema: {
        querystring: LogExportQuery,
        response: { 200: Type.String(), ...errorResponses(400, 401, 403, 404) },
      },
      config: { operation: 'log.export', access: OWNER_OR_ADMIN },
    },
    async (request, reply) => {
      const caller = userCaller(request)
      const { format = 'ndjson', deployment } = request.query
      if (deployment !== undefined) await scoreReading.requireDeployment(caller, deployment)
      const chunks = logExports.export(caller, request.query)
      return sendChunks(reply, chunks, {
        what: 'an export',
        headers: {
          'content-type': TYPES[format],
          'content-disposition': `attachment; filename="score-log.${format}"`,
          'x-content-type-options': 'nosniff',
        },
      })
    },
  )
}
