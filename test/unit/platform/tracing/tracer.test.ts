import { expect, test } from 'vitest'
import type { SpanTexts } from '../../../../src/platform/tracing/otlp.ts'
import { Tracer } from '../../../../src/platform/tracing/tracer.ts'

const SAMPLED = '00-0123456789abcdef0123456789abcdef-0123456789abcdef-01'

function start({ room = true }: { room?: boolean } = {}) {
  let nowMs = 5_000
  const added: SpanTexts[] = []
  const counts = { sent: 0, dropped: 0 }
  const hasRoom = (spans: number) => {
    if (!room) counts.dropped += spans
    return room
  }
  const clock = { epochMs: () => nowMs, monotonicMs: () => nowMs }
  const sender = { hasRoom, add: (texts: SpanTexts) => void added.push(texts), counts }
  const tracer = new Tracer({ rootShare: 0, sender, clock })
  const ask = () =>
    tracer.begin(SAMPLED)?.end({
      requestId: 'req_1',
      operation: 'score',
      method: 'POST',
      route: '/v1/score/:slug',
      status: 200,
      receivedAtMs: nowMs,
      endedAtMs: nowMs,
    })
  return { ask, added, counts, wait: (ms: number) => (nowMs += ms) }
}

test('callers who sample everything get 500 spans a second, and the others are counted', () => {
  const { ask, added, counts, wait } = start()
  for (let n = 0; n < 2_000; n++) ask()
  expect([added.length, counts.dropped]).toEqual([500, 1_500])
  wait(1_000)
  ask()
  expect(added).toHaveLength(501)
})

test('a span without room in the queue is counted and not written', () => {
  const { ask, added, counts } = start({ room: false })
  ask()
  expect([added.length, counts.dropped]).toEqual([0, 1])
})
