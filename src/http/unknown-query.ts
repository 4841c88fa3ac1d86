import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'

const NO_QUERY = Type.Object({}, { additionalProperties: false })
/** Endpoints for callers; probes and pages take any query. */
const API = /^\/(?:v1|api)\//

/**
 * Lets the routes that are registered after it refuse query parameters that they do not declare. A
 * misspelt or misplaced parameter would change nothing, and nobody would notice.
 */
export function refuseUnknownQueries(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    if (!API.test(route.url) || route.schema?.querystring !== undefined) return
    route.schema = { ...route.schema, querystring: NO_QUERY }
  })
}
