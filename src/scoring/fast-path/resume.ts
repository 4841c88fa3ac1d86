import { Readable } from 'node:stream'
import fastifyPlugin from 'fastify-plugin'
import { findFallback } from './fallback.ts'

/**
 * Puts what the fast path found out on the request, so that the plugins after this one know no fast
 * path. It is registered after `request-id`, whose time it replaces, and before all others.
 */
export const resumePlugin = fastifyPlugin(
  async (app) => {
    app.addHook('onRequest', (request, _reply, done) => {
      const fallback = findFallback(request.raw)
      if (fallback !== undefined) {
        request.receivedAtMs = fallback.receivedAtMs
        request.caller = fallback.caller
        request.keyLookup = fallback.keyLookup
        request.refusal = fallback.failure
        request.quotaDecision = fallback.quotaDecision
        request.answered = fallback.answered
        request.span = fallback.span
      }
      done()
    })

    // The fast path has read the body from the connection already.
    app.addHook('preParsing', (request, _reply, payload, done) => {
      const body = findFallback(request.raw)?.body
      done(null, body ? Readable.from([body]) : payload)
    })
  },
  { name: 'resume', dependencies: ['request-id'], fastify: '5.x' },
)
