import type { Readable } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Batch as BatchSchema, UploadBatchQuery } from '../../../schemas/batches.ts'
import { errorResponses } from '../../../schemas/errors.ts'
import { AppError } from '../../errors.ts'
import { OUTCOME_SENDERS } from '../../http/access/caller.ts'
import { provenCaller } from '../../http/access/request-caller.ts'
import { defineRoute } from '../../http/define-route.ts'
import { provenBody } from '../../http/proof.ts'
import { free } from '../../platform/bytes/free.ts'
import { IncomingMessage } from '../../platform/node-http.ts'
import type { BatchFormat } from './batch.ts'
import { makeOptions } from './options.ts'
import { batchFields } from './response.ts'
import type { BatchService } from './service.ts'

const FORMATS: Readonly<Record<string, BatchFormat>> = {
  'application/x-ndjson': 'ndjson',
  'text/csv': 'csv',
  'application/vnd.apache.parquet': 'parquet',
}
const TYPES = Object.keys(FORMATS).join(', ')
const CHARSET = /;\s*charset\s*=\s*"?([^";\s]+)/
/** The second one has a part of its characters. */
const CHARSETS = ['utf-8', 'utf8', 'us-ascii']

/** Files that are sent to be scored. They go to the disk as they come, and never into memory. */
export const batchUploadRoutes: FastifyPluginAsyncTypebox<{
  readonly batches: BatchService
}> = async (app, { batches }) => {
  // Only for the route of this plugin.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(Object.keys(FORMATS), (_request, payload, done) => done(null, payload))

  app.post(
    '/v1/batches/upload',
    defineRoute('batches.upload', OUTCOME_SENDERS, {
      bodyLimit: batches.bytesMax,
      querystring: UploadBatchQuery,
      response: { 202: BatchSchema, ...errorResponses(400, 401, 403, 404, 409, 413, 415, 422) },
      isStreamed: true,
      fileTypes: Object.keys(FORMATS),
      takesIdempotencyKey: true,
    }),
    async (request, reply) => {
      const { deployment, ...options } = request.query
      const order = { deploymentId: deployment, options: makeOptions(readFormat(request), options) }
      const caller = provenCaller(request)
      const upload = await batches.receive(
        caller,
        order,
        provenBody(request, freed(request.body as Readable)),
      )
      try {
        // Only now its bytes are known, with which an Idempotency-Key goes.
        const claimed = await request.claimStreamed?.(upload.file.source.sha256)
        if (claimed?.isAnswered === true) return reply
        const batch = await batches.upload(caller, upload, claimed?.claim)
        return reply.code(202).send(batchFields(batch))
      } finally {
        await upload.discard()
      }
    },
  )
}

/** The parts of a body from a socket, each freed once the next one is asked for. */
async function* freed(body: Readable): AsyncGenerator<Uint8Array> {
  for await (const part of body) {
    yield part
    if (body instanceof IncomingMessage) free(part)
  }
}

/** @throws AppError `invalid_request`, `unsupported_media_type` */
function readFormat({ headers }: FastifyRequest): BatchFormat {
  const given = (headers['content-type'] ?? '').toLowerCase()
  const [type = ''] = given.split(';')
  if (type === '') {
    const message = `send a file as the body, with a header Content-Type, one of ${TYPES}`
    throw new AppError('invalid_request', message)
  }
  const format = FORMATS[type.trim()]
  if (format === undefined) {
    throw new AppError('unsupported_media_type', `send the file as one of ${TYPES}`)
  }
  const [, charset = 'utf-8'] = CHARSET.exec(given) ?? []
  if (CHARSETS.includes(charset)) return format
  throw new AppError('unsupported_media_type', 'send the file in UTF-8, or leave its charset out')
}
