import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError } from '../errors.ts'
import { parseJson } from '../platform/json.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Receives the body as it was sent, before it is parsed; null: nobody asks for it. */
    onBody: ((bytes: Buffer) => void) | null
  }
}

/** Makes JSON the only type of body that the service reads. */
export function acceptJsonOnly(app: FastifyInstance): void {
  app.decorateRequest('onBody', null)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, sent, done) => {
    const body = sent as Buffer
    try {
      request.onBody?.(body)
      // Other bytes would become another text: a category that nobody sent.
      if (!isUtf8(body)) throw new AppError('invalid_request', 'the body is not UTF-8')
      const read = request.routeOptions.config.insteadOfParsing?.(request, body) ?? null
      if (read === null) done(null, parsed(request, body))
      else
        read
          .then((value) => value ?? parsed(request, body))
          .then((value) => done(null, value), done)
    } catch (error) {
      done(error as Error)
    }
  })
}

function parsed({ routeOptions: { config, schema } }: FastifyRequest, body: Buffer): unknown {
  const needsNone = schema?.body === undefined || config.isBodyOptional === true
  return needsNone && body.length === 0 ? undefined : parseJson(body.toString())
}
