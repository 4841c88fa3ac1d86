import { expect, test } from 'vitest'
import { formatSpanTexts } from '../../../../src/platform/tracing/otlp.ts'
import { type EndedRequest, RequestSpan } from '../../../../src/platform/tracing/request-span.ts'

const REQUEST: EndedRequest = {
  requestId: 'req_1',
  operation: 'scoring.score',
  method: 'POST',
  route: '/v1/score/:slug',
  status: 200,
  receivedAtMs: 10,
  endedAtMs: 13.25,
}
/** The monotonic clock began then. */
const EPOCH_OFFSET_MS = 1_800_000_000_000

function newSpan(nowMs: () => number, taken: EndedRequest[] = []): RequestSpan {
  return new RequestSpan({
    traceId: 'a'.repeat(32),
    callerSpanId: 'b'.repeat(16),
    clock: { epochMs: () => 0, monotonicMs: nowMs },
    onEnd: { take: (_span, request) => void taken.push(request) },
  })
}

const makeSpans = (span: RequestSpan, request: EndedRequest) =>
  JSON.parse(`[${formatSpanTexts(span, request, EPOCH_OFFSET_MS).text}]`)

test('times are nanoseconds since 1970, to the microsecond', () => {
  let nowMs = 11
  const span = newSpan(() => nowMs)
  span.beginStep('engine')
  nowMs = 11.5
  span.endStep('engine')
  const [server, engine] = makeSpans(span, REQUEST)
  expect(server.startTimeUnixNano).toBe('1800000000010000000')
  expect(server.endTimeUnixNano).toBe('1800000000013250000')
  expect(engine.startTimeUnixNano).toBe('1800000000011000000')
  expect(engine.endTimeUnixNano).toBe('1800000000011500000')
  expect(engine.parentSpanId).toBe(server.spanId)
})

test('a step that the request did not come to the end of ends with it', () => {
  const span = newSpan(() => 11)
  span.beginStep('quota')
  const [server, quota] = makeSpans(span, { ...REQUEST, status: 503 })
  expect(quota.endTimeUnixNano).toBe(server.endTimeUnixNano)
})

test.each([
  [200, null, undefined, undefined],
  [404, 'deployment_not_found', 'deployment_not_found', undefined],
  [417, null, '417', undefined],
  [503, 'unavailable', 'unavailable', { code: 2 }],
])(
  'an answer %d with %s has the error type %s and the status %j',
  (status, code, type, expected) => {
    const span = newSpan(() => 0)
    span.errorCode = code
    const [server] = makeSpans(span, { ...REQUEST, status })
    const types = server.attributes.filter(({ key }: { key: string }) => key === 'error.type')
    expect(types.map(({ value }: { value: { stringValue: string } }) => value.stringValue)).toEqual(
      type === undefined ? [] : [type],
    )
    expect(server.status).toEqual(expected)
  },
)

test('a request that no route matched is named by its method alone', () => {
  const [server] = makeSpans(
    newSpan(() => 0),
    { ...REQUEST, route: undefined },
  )
  expect(server.name).toBe('POST')
})

// The answer to a slow client may be observed twice.
test('a span ends once, and no step is added after that', () => {
  const taken: EndedRequest[] = []
  const span = newSpan(() => 0, taken)
  span.end(REQUEST)
  span.end(REQUEST)
  span.beginStep('log')
  expect(taken).toEqual([REQUEST])
  expect(span.steps).toEqual([])
})

test('a span has a bounded number of steps', () => {
  const span = newSpan(() => 0)
  for (let step = 0; step < 100; step++) span.beginStep('quota')
  expect(span.steps).toHaveLength(8)
})
