import { randomBytes } from 'node:crypto'
import type { EndedRequest, RequestSpan } from './request-span.ts'

/** Values of `SpanKind` and of the code of `Status`. */
const KIND_INTERNAL = 1
const KIND_SERVER = 2
const STATUS_ERROR = 2
const SPAN_ID_BYTES = 8
const SCOPE = 'scoreline'

type Value = string | number

/** One request as spans, ready to be sent. */
export interface SpanTexts {
  /** JSON of each span, with commas between them. */
  readonly text: string
  readonly spans: number
}

/**
 * Writes the spans of a request: the server's, then one for each step.
 *
 * A client's mistake is an answer like any other. Only a failure of the service is an error of the
 * span, as the conventions for HTTP demand; `error.type` names both.
 *
 * @param epochOffsetMs from the monotonic clock to milliseconds since 1970
 * @source OpenTelemetry, OTLP 1 in JSON; semantic conventions for HTTP spans
 */
export function formatSpanTexts(
  span: RequestSpan,
  request: EndedRequest,
  epochOffsetMs: number,
): SpanTexts {
  const { traceId, callerSpanId, steps, deploymentId, errorCode } = span
  const { requestId, operation, method, route, status, receivedAtMs, endedAtMs } = request
  const spanId = newSpanId()
  const time = (ms: number) => nanosecondsText(epochOffsetMs + ms)
  const server = {
    traceId,
    spanId,
    ...(callerSpanId !== null && { parentSpanId: callerSpanId }),
    name: route === undefined ? method : `${method} ${route}`,
    kind: KIND_SERVER,
    startTimeUnixNano: time(receivedAtMs),
    endTimeUnixNano: time(endedAtMs),
    attributes: formatAttributes({
      'http.request.method': method,
      ...(route !== undefined && { 'http.route': route }),
      'http.response.status_code': status,
      ...(status >= 400 && { 'error.type': errorCode ?? String(status) }),
      'scoreline.operation': operation,
      'scoreline.request_id': requestId,
      ...(deploymentId !== null && { 'scoreline.deployment_id': deploymentId }),
    }),
    ...(status >= 500 && { status: { code: STATUS_ERROR } }),
  }
  const children = steps.map((step) => ({
    traceId,
    spanId: newSpanId(),
    parentSpanId: spanId,
    name: step.name,
    kind: KIND_INTERNAL,
    startTimeUnixNano: time(step.beganAtMs),
    endTimeUnixNano: time(step.endedAtMs ?? endedAtMs),
  }))
  const texts = [server, ...children].map((one) => JSON.stringify(one))
  return { text: texts.join(','), spans: texts.length }
}

/** The body of a request to a collector, around the spans. */
export function exportBody(
  resource: Readonly<Record<string, Value>>,
  spanTexts: readonly string[],
): string {
  const attributes = JSON.stringify(formatAttributes(resource))
  const scope = JSON.stringify({ name: SCOPE })
  return `{"resourceSpans":[{"resource":{"attributes":${attributes}},"scopeSpans":[{"scope":${scope},"spans":[${spanTexts.join(',')}]}]}]}`
}

/** 64-bit integers are texts in the JSON of Protocol Buffers. */
function formatAttributes(attributes: Readonly<Record<string, Value>>): object[] {
  return Object.entries(attributes).map(([key, value]) => ({
    key,
    value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value },
  }))
}

/** Microseconds are as fine as a double can say since 1970. */
function nanosecondsText(epochMs: number): string {
  return `${Math.round(epochMs * 1_000)}000`
}

function newSpanId(): string {
  return randomBytes(SPAN_ID_BYTES).toString('hex')
}
