import type { FastifyRequest } from 'fastify'
import type { RequestSpan } from '../platform/tracing/request-span.ts'
import { readTraceId, readTraceparent } from '../platform/tracing/traceparent.ts'

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
