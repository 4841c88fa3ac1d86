import type { FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Clock } from '../platform/clock.ts'
import type { RequestSpan } from '../platform/tracing/request-span.ts'
import { readTraceId, readTraceparent } from '../platform/tracing/traceparent.ts'
import type { Tracer } from '../platform/tracing/tracer.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** When its headers had arrived, in milliseconds of the monotonic clock. */
    receivedAtMs: number
    /** Null if the request does not become a span. */
    span: RequestSpan | null
  }
}

interface RequestIdOptions {
  readonly clock: Clock
  /** Null: no request becomes a span. */
  readonly tracer: Tracer | null
}

/** Records when a request arrived, and names it in its response: the log has the same id. */
export const requestIdPlugin = fastifyPlugin<RequestIdOptions>(
  async (app, { clock, tracer }) => {
    app.decorateRequest('receivedAtMs', 0)
    app.decorateRequest('span', null)

    app.addHook('onRequest', (request, reply, done) => {
      request.receivedAtMs = clock.monotonicMs()
      if (tracer !== null)
        request.span = tracer.begin(readTraceparent(request.headers['traceparent']))
      reply.header('x-request-id', request.id)
      done()
    })
  },
  { name: 'request-id', fastify: '5.x' },
)

/** The field that joins lines of the log with the caller's trace; empty if there is no trace. */
export function traceFacts(
  span: RequestSpan | null,
  traceparent: string | null,
): { trace_id?: string } {
  if (span !== null) return { trace_id: span.traceId }
  return traceparent === null ? {} : { trace_id: readTraceId(traceparent) }
}

/** The same for a request that Fastify has. */
export function readTraceFacts({ span, headers }: FastifyRequest): { trace_id?: string } {
  return traceFacts(span, readTraceparent(headers['traceparent']))
}
