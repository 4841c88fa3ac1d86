import { isUtf8 } from 'node:buffer'
import type { FastifyInstance } from 'fastify'
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
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    try {
      request.onBody?.(body as Buffer)
      // Other bytes would become another text: a category that nobody sent.
      if (!isUtf8(body as Buffer)) throw new AppError('invalid_request', 'the body is not UTF-8')
      const { config, schema } = request.routeOptions
      const needsNone = schema?.body === undefined || config.isBodyOptional === true
      done(null, needsNone && body.length === 0 ? undefined : parseJson(body.toString()))
    } catch (error) {
      done(error as Error)
    }
  })
}
