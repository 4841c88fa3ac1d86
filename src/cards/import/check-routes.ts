import type { Readable } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifySchemaValidationError } from 'fastify/types/schema.js'
import { errorResponses } from '../../../schemas/errors.ts'
import { CheckOrder } from '../../../schemas/import.ts'
import { Job } from '../../../schemas/jobs.ts'
import { AppError } from '../../errors.ts'
import { ANALYSTS } from '../../http/access/caller.ts'
import { userCaller } from '../../http/access/request-caller.ts'
import { defineRoute } from '../../http/define-route.ts'
import { jobFields } from '../../jobs/response.ts'
import type { CheckService } from './checks.ts'

const NDJSON = 'application/x-ndjson'
const NO_FILE = `send a file as the body, with the header Content-Type: ${NDJSON}`

/** Files with a card and its sample. They go to the disk as they come, and never into memory. */
export const checkRoutes: FastifyPluginAsyncTypebox<{ readonly checks: CheckService }> = async (
  app,
  { checks },
) => {
  const orderBytesMax = app.initialConfig.bodyLimit ?? 0
  // Only for the route of this plugin.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(NDJSON, (_request, payload, done) => done(null, payload))

  app.post(
    '/v1/models/checks',
    defineRoute('models.check', ANALYSTS, {
      bodyLimit: checks.bytesMax,
      response: { 202: Job, ...errorResponses(400, 401, 403, 413, 415) },
      isStreamed: true,
      fileTypes: [NDJSON],
    }),
    async (request, reply) => {
      const body = request.body as Readable | undefined
      if (body === undefined) throw new AppError('invalid_request', NO_FILE)
      const received = await checks.receive(body, orderBytesMax)
      try {
        const isValid = request.compileValidationSchema(CheckOrder)
        if (!isValid(received.order)) throw invalidOrder(isValid.errors ?? [])
        const job = await received.start(userCaller(request))
        return reply.code(202).send(jobFields(job))
      } finally {
        await received.discard()
      }
    },
  )
}

/** The error of a body that does not fit its schema, for the handler of these. */
function invalidOrder(validation: FastifySchemaValidationError[]): Error {
  return Object.assign(new Error('the first line is not an order'), {
    validation,
    validationContext: 'first line',
  })
}
