import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import { errorResponses } from '../../../../schemas/errors.ts'
import { LogExportQuery } from '../../../../schemas/scores.ts'
import { AppError } from '../../../errors.ts'
import { MANAGER_OR_AUDITOR } from '../../../http/access/caller.ts'
import { userCaller } from '../../../http/access/request-caller.ts'
import { defineRoute } from '../../../http/define-route.ts'
import { fileHeaders } from '../../../http/reply.ts'
import { sendChunks } from '../../../http/text-stream.ts'
import type { ScoreReadingService } from '../service.ts'
import type { ScoreFeed } from './feed.ts'
import type { LogExportFormat } from './formats.ts'
import type { LogExportService } from './service.ts'

interface LogExportRouteOptions {
  readonly logExports: LogExportService
  readonly scoreFeed: ScoreFeed
  readonly scoreReading: Pick<ScoreReadingService, 'requireDeployment'>
}

const TYPES: Readonly<Record<LogExportFormat, string>> = {
  ndjson: 'application/x-ndjson; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
  parquet: 'application/vnd.apache.parquet',
}

export const logExportRoutes: FastifyPluginAsyncTypebox<LogExportRouteOptions> = async (
  app,
  { logExports, scoreFeed, scoreReading },
) => {
  app.get(
    '/v1/log/export',
    defineRoute('log.export', MANAGER_OR_AUDITOR, {
      querystring: LogExportQuery,
      response: { 200: Type.String(), ...errorResponses(400, 401, 403, 404) },
    }),
    async (request, reply) => {
      const caller = userCaller(request)
      const { after, format = 'ndjson', deployment } = request.query
      requireFit(request.query)
      if (deployment !== undefined) await scoreReading.requireDeployment(caller, deployment)
      const headers = fileHeaders(TYPES[format], `score-log.${format}`)
      if (after !== undefined) {
        const { body, next, expired } = await scoreFeed.read(caller, { ...request.query, after })
        const place = { 'x-next-position': next, 'x-expired-scores': expired }
        return reply.headers({ ...headers, ...place }).send(body)
      }
      const chunks = logExports.export(caller, request.query)
      return sendChunks(reply, chunks, { what: 'an export', headers })
    },
  )
}

/** @throws AppError `invalid_request` for a page of a period, or a limit of no page */
function requireFit({ after, limit, from, to }: Static<typeof LogExportQuery>): void {
  if (after === undefined && limit !== undefined) {
    throw new AppError('invalid_request', '`limit` goes with `after`: a period comes as a whole')
  }
  if (after !== undefined && (from !== undefined || to !== undefined)) {
    const message = '`after` goes without `from` and `to`: the log is read on from a position'
    throw new AppError('invalid_request', message)
  }
}
