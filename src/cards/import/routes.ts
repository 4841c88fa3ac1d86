import type { Readable } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import type { FastifySchemaValidationError } from 'fastify/types/schema.js'
import { errorResponses } from '../../../schemas/errors.ts'
import { CheckOrder, ImportRequest, ImportResult } from '../../../schemas/import.ts'
import { Job } from '../../../schemas/jobs.ts'
import { AppError } from '../../errors.ts'
import { ANALYSTS, DEPLOYER_ROLES } from '../../http/access/caller.ts'
import { insufficientRole } from '../../http/access/manager.ts'
import { userCaller } from '../../http/access/request-caller.ts'
import { signalWhileConnected } from '../../http/connected.ts'
import { defineRoute } from '../../http/define-route.ts'
import { addressedUrl } from '../../http/host.ts'
import { JSON_TYPE } from '../../http/reply.ts'
import { jobFields } from '../../jobs/job.ts'
import { deployedFields } from '../../registry/models/responses.ts'
import type { CheckService } from './checks.ts'
import { makeImportInput } from './request.ts'
import type { ImportService } from './service.ts'

interface ImportRouteOptions {
  readonly imports: ImportService
  /** Base of the scoring URLs in responses; null for the URL that the caller used. */
  readonly publicUrl: string | null
}

export const importRoutes: FastifyPluginAsyncTypebox<ImportRouteOptions> = async (
  app,
  { imports, publicUrl },
) => {
  app.post(
    '/v1/models/import',
    defineRoute('models.import', ANALYSTS, {
      body: ImportRequest,
      response: { 200: ImportResult, ...errorResponses(400, 401, 403, 409, 413, 415, 422) },
      takesIdempotencyKey: true,
      takesCard: true,
    }),
    async (request, reply) => {
      const { register } = request.body
      const caller = userCaller(request)
      // A check stores nothing.
      if (register !== undefined && !DEPLOYER_ROLES.includes(caller.role)) {
        throw insufficientRole(DEPLOYER_ROLES)
      }
      const { answer, deployed } = await imports.import(
        caller,
        makeImportInput(request.body),
        register === undefined ? null : readRegister(register),
        signalWhileConnected(request, reply),
      )
      const url = publicUrl ?? addressedUrl(request)
      const registered = JSON.stringify(deployed && deployedFields(deployed, url))
      // Sent without the response schema, which does not know the labels that are stored in bins.
      const open = answer.subarray(0, -1)
      return reply
        .type(JSON_TYPE)
        .send(Buffer.concat([open, Buffer.from(`,"registered":${registered}}`)]))
    },
  )
}

function readRegister(register: NonNullable<Static<typeof ImportRequest>['register']>) {
  const { environment, description, auto_deploy: autoDeploy } = register
  const { accept_unreached: acceptsUnreached = false } = register
  return { environment, description: description ?? null, autoDeploy, acceptsUnreached }
}

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
