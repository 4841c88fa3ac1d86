import type { Readable } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { errorResponses } from '../../schemas/errors.ts'
import { IMPORT_BODIES, OutcomeImport, OutcomeImportStarted } from '../../schemas/outcomes.ts'
import { AppError } from '../errors.ts'
import { OUTCOME_READERS, OUTCOME_SENDERS } from '../http/access/caller.ts'
import { provenCaller } from '../http/access/request-caller.ts'
import { defineRoute } from '../http/define-route.ts'
import { provenBody } from '../http/proof.ts'
import type { ImportFormat } from './import-store.ts'
import type { OutcomeImports } from './imports.ts'
import { makeSender } from './routes.ts'

const FORMATS: Readonly<Record<string, ImportFormat>> = {
  'application/x-ndjson': 'ndjson',
  'text/csv': 'csv',
}

/** Files of outcomes. Their bodies go to the disk as they come, and never into memory. */
export const outcomeImportRoutes: FastifyPluginAsyncTypebox<{
  readonly outcomeImports: OutcomeImports
}> = async (app, { outcomeImports }) => {
  const bytesMax = IMPORT_BODIES * (app.initialConfig.bodyLimit ?? 0)
  // Only for the routes of this plugin.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(Object.keys(FORMATS), (_request, payload, done) => done(null, payload))

  app.post(
    '/v1/outcomes/imports',
    defineRoute('outcomes.import', OUTCOME_SENDERS, {
      bodyLimit: bytesMax,
      response: { 202: OutcomeImportStarted, ...errorResponses(400, 401, 403, 413, 415) },
      isStreamed: true,
      fileTypes: Object.keys(FORMATS),
    }),
    async (request, reply) => {
      const format = readFormat(request)
      const sender = makeSender(provenCaller(request))
      const body = provenBody(request, request.body as Readable)
      const started = await outcomeImports.take(sender, format, body, bytesMax)
      return reply.code(202).send(started)
    },
  )

  app.get(
    '/v1/outcomes/imports/:id',
    defineRoute('outcomes.get_import', OUTCOME_READERS, {
      params: Type.Object({ id: Type.String() }),
      response: { 200: OutcomeImport, ...errorResponses(401, 403, 404) },
    }),
    async (request) => {
      const found = await outcomeImports.get(makeSender(provenCaller(request)), request.params.id)
      const { id, status, lines, counts, errors } = found
      return { id, status, lines, counts, errors: [...errors] }
    },
  )
}

/** @throws AppError `invalid_request`, `unsupported_media_type` */
function readFormat({ headers }: FastifyRequest): ImportFormat {
  const [type = ''] = (headers['content-type'] ?? '').toLowerCase().split(';')
  if (type === '') {
    const message =
      'send a file as the body, with the header Content-Type: application/x-ndjson or text/csv'
    throw new AppError('invalid_request', message)
  }
  const format = FORMATS[type.trim()]
  if (format !== undefined) return format
  const message = 'send the file as application/x-ndjson or text/csv'
  throw new AppError('unsupported_media_type', message)
}
