import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import {
  BatchesQuery,
  BatchList,
  Batch as BatchSchema,
  StartBatchRequest,
} from '../../../schemas/batches.ts'
import { errorResponses } from '../../../schemas/errors.ts'
import { OUTCOME_READERS, OUTCOME_SENDERS } from '../../http/access/caller.ts'
import { provenCaller } from '../../http/access/request-caller.ts'
import { defineRoute, readBodyLimit } from '../../http/define-route.ts'
import { fileHeaders, sendList } from '../../http/reply.ts'
import { sendChunks } from '../../http/text-stream.ts'
import type { AuditLogService } from '../../identity/audit/service.ts'
import { formatOfPath, makeOptions } from './options.ts'
import { batchFields } from './response.ts'
import type { BatchService, ResultFile } from './service.ts'

interface BatchRouteOptions {
  readonly batches: BatchService
  readonly auditLog: Pick<AuditLogService, 'note'>
}

const BODY_BYTES_MAX = 16 * 1024
const BatchParams = Type.Object({ id: Type.String() })
/** Whoever may send outcomes: a server that scores, or those who may deploy a model. */
const access = OUTCOME_SENDERS
const TYPES: Readonly<Record<ResultFile['format'], string>> = {
  ndjson: 'application/x-ndjson; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
  parquet: 'application/vnd.apache.parquet',
}

/** Files that are scored: starting with a file of the store, progress, results. */
export const batchRoutes: FastifyPluginAsyncTypebox<BatchRouteOptions> = async (
  app,
  { batches, auditLog },
) => {
  const bodyLimit = readBodyLimit(app, BODY_BYTES_MAX)

  app.post(
    '/v1/batches',
    defineRoute('batches.start', access, {
      bodyLimit,
      body: StartBatchRequest,
      response: {
        202: BatchSchema,
        ...errorResponses(400, 401, 403, 404, 409, 413, 415, 422),
      },
      takesIdempotencyKey: true,
    }),
    async (request, reply) => {
      const { deployment, input, ...options } = request.body
      const format = input.format ?? formatOfPath(input.path)
      const order = { deploymentId: deployment, options: makeOptions(format, options) }
      const { claimed } = request.keyed ?? {}
      const claim = claimed?.kind === 'claimed' ? claimed.claim : null
      const batch = await batches.start(provenCaller(request), order, input.path, claim)
      return reply.code(202).send(batchFields(batch))
    },
  )

  app.get(
    '/v1/batches',
    defineRoute('batches.list', OUTCOME_READERS, {
      querystring: BatchesQuery,
      response: { 200: BatchList, ...errorResponses(400, 401, 403) },
    }),
    (request, reply) => {
      const caller = provenCaller(request)
      return sendList(reply, request.query, {
        read: (page) => batches.list(caller, page),
        answer: (items) => ({ batches: items.map(batchFields) }),
      })
    },
  )

  app.get(
    '/v1/batches/:id',
    defineRoute('batches.get', OUTCOME_READERS, {
      params: BatchParams,
      response: { 200: BatchSchema, ...errorResponses(401, 403, 404) },
    }),
    async (request) => batchFields(await batches.get(provenCaller(request), request.params.id)),
  )

  app.post(
    '/v1/batches/:id/cancel',
    defineRoute('batches.cancel', access, {
      params: BatchParams,
      response: { 200: BatchSchema, ...errorResponses(401, 403, 404) },
    }),
    async (request) => batchFields(await batches.cancel(provenCaller(request), request.params.id)),
  )

  for (const what of ['results', 'errors'] as const) {
    app.get(
      `/v1/batches/:id/${what}`,
      defineRoute(`batches.${what}`, OUTCOME_READERS, {
        params: BatchParams,
        response: { 200: Type.String(), ...errorResponses(401, 403, 404, 409) },
      }),
      async (request, reply) => {
        const { id } = request.params as { id: string }
        const caller = provenCaller(request)
        const { format, chunks } = await batches[what](caller, id)
        await auditLog.note(caller, { action: `batch.read_${what}`, subject: id })
        return sendChunks(reply, chunks, {
          what: `the ${what} of a batch`,
          headers: fileHeaders(TYPES[format], `${what}.${format}`),
        })
      },
    )
  }
}
