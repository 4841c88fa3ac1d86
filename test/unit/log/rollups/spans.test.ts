import fc from 'fast-check'
import { expect, test } from 'vitest'
import { coverRange, SPAN_MS, spanStart } from '../../../../src/log/rollups/spans.ts'

const at = (text: string) => Date.parse(text)
const moment = fc.integer({ min: 0, max: 4 * 366 * 86_400_000 })

// Whatever is covered twice is counted twice, and whatever is not is missing.
test('a stretch is covered once, by whole spans and at most two parts of a minute', () => {
  fc.assert(
    fc.property(moment, moment, (one, other) => {
      const range = { fromMs: Math.min(one, other), toMs: Math.max(one, other) }
      const { spans, rests } = coverRange(range)
      for (const { span, fromMs, toMs } of spans) {
        expect([fromMs % SPAN_MS[span], toMs % SPAN_MS[span]]).toEqual([0, 0])
      }
      expect(rests.length).toBeLessThanOrEqual(2)
      for (const { fromMs, toMs } of rests) expect(toMs - fromMs).toBeLessThan(60_000 * 2)
      const parts = [...spans, ...rests].sort((a, b) => a.fromMs - b.fromMs)
      let reachedMs = range.fromMs
      for (const { fromMs, toMs } of parts) {
        expect(fromMs).toBe(reachedMs)
        expect(toMs).toBeGreaterThan(fromMs)
        reachedMs = toMs
      }
      expect(reachedMs).toBe(range.toMs)
    }),
    { numRuns: 500 },
  )
})

test('a few spans cover a long stretch', () => {
  const range = { fromMs: at('2026-01-01T23:58:30.500Z'), toMs: at('2026-03-02T02:02:00.001Z') }
  expect(coverRange(range)).toEqual({
    spans: [
      { span: 'minute', fromMs: at('2026-01-01T23:59Z'), toMs: at('2026-01-02T00:00Z') },
      { span: 'day', fromMs: at('2026-01-02T00:00Z'), toMs: at('2026-03-02T00:00Z') },
      { span: 'hour', fromMs: at('2026-03-02T00:00Z'), toMs: at('2026-03-02T02:00Z') },
      { span: 'minute', fromMs: at('2026-03-02T02:00Z'), toMs: at('2026-03-02T02:02Z') },
    ],
    rests: [
      { fromMs: at('2026-01-01T23:58:30.500Z'), toMs: at('2026-01-01T23:59Z') },
      { fromMs: at('2026-03-02T02:02Z'), toMs: at('2026-03-02T02:02:00.001Z') },
    ],
  })
})

test('within a minute only the log is read, over all time only days', () => {
  const within = { fromMs: at('2026-03-02T02:02:10Z'), toMs: at('2026-03-02T02:02:11Z') }
  expect(coverRange(within)).toEqual({ spans: [], rests: [within] })
  const always = { fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY }
  expect(coverRange(always)).toEqual({ spans: [{ span: 'day', ...always }], rests: [] })
  const since = { fromMs: at('2026-03-02T00:00Z'), toMs: Number.POSITIVE_INFINITY }
  expect(coverRange(since)).toEqual({ spans: [{ span: 'day', ...since }], rests: [] })
  expect(coverRange({ fromMs: 5, toMs: 5 })).toEqual({ spans: [], rests: [] })
})

test('a span starts on its own first millisecond', () => {
  expect(spanStart('day', at('2026-03-02T00:00Z'))).toBe(at('2026-03-02T00:00Z'))
  expect(spanStart('hour', at('2026-03-02T05:59:59.999Z'))).toBe(at('2026-03-02T05:00Z'))
  expect(spanStart('minute', at('2026-03-02T05:59:59.999Z'))).toBe(at('2026-03-02T05:59Z'))
})
