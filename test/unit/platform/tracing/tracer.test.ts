import { expect, test } from 'vitest'
import type { SpanTexts } from '../../../../src/platform/tracing/otlp.ts'
import { CALLER_SAMPLED_MAX, Tracer } from '../../../../src/platform/tracing/tracer.ts'
import { ManualClock } from '../../../support/start/manual-clock.ts'

const SAMPLED = `00-${'a'.repeat(32)}-00f067aa0ba902b7-01`

class Sender {
  readonly added: SpanTexts[] = []
  dropped = 0
  room = true
  add = (texts: SpanTexts) => void this.added.push(texts)
  hasRoom = () => this.room
  drop = (spans: number) => {
    this.dropped += spans
  }
}

function startTracer(rootShare = 0) {
  const sender = new Sender()
  const clock = new ManualClock()
  const tracer = new Tracer({ rootShare, sender, clock })
  let looks = 0
  const request = {
    requestId: 'req_1',
    operation: 'score.single',
    method: 'POST',
    // What the text of a span needs, and nothing else of it.
    get route() {
      looks++
      return '/v1/score/:slug'
    },
    status: 200,
    receivedAtMs: 0,
    endedAtMs: 1,
  }
  const trace = (traceparent: string | null) => {
    const span = tracer.begin(traceparent)
    span?.beginStep('engine')
    span?.end(request)
  }
  return { sender, clock, trace, looks: () => looks }
}

test('no text is made of spans for which the sender has no room', () => {
  const { sender, trace, looks } = startTracer()
  sender.room = false
  trace(SAMPLED)
  expect([sender.dropped, sender.added.length, looks()]).toEqual([2, 0, 0])
  sender.room = true
  trace(SAMPLED)
  expect([sender.dropped, sender.added.length]).toEqual([2, 1])
})

// Everybody who may score can set the flag on each request.
test('callers have so many of their requests made to spans in a second, and no more', () => {
  const { sender, clock, trace, looks } = startTracer()
  for (let n = 0; n < CALLER_SAMPLED_MAX + 3; n++) trace(SAMPLED)
  expect([sender.added.length, sender.dropped]).toEqual([CALLER_SAMPLED_MAX, 6])
  const before = looks()
  trace(SAMPLED)
  expect(looks()).toBe(before)
  clock.advance(1_000)
  trace(SAMPLED)
  expect(sender.added.length).toBe(CALLER_SAMPLED_MAX + 1)
})

test('the share of requests that the operator chose has no bound but the room', () => {
  const { sender, trace } = startTracer(1)
  for (let n = 0; n < CALLER_SAMPLED_MAX + 3; n++) trace(null)
  expect(sender.added.length).toBe(CALLER_SAMPLED_MAX + 3)
})
