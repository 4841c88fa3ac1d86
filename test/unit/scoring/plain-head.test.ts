import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PlainHead } from '../../../src/scoring/fast-path/plain-head.ts'

const BODY_BYTES_MAX = 64 * 1024
const TRACES = ['a', 'b'].map((digit) => `00-${digit.repeat(32)}-00f067aa0ba902b7-01`)
const [ONE = '', OTHER = ''] = TRACES

interface Head {
  readonly traceparents: readonly string[]
  readonly bodyBytes: string
  /** Whether the trace stands after Content-Length. */
  readonly isTraceLast: boolean
  readonly routingKey: string
}

function bytesOf({ traceparents, bodyBytes, isTraceLast, routingKey }: Head): Buffer {
  const traces = traceparents.map((one) => `traceparent: ${one}`)
  const length = `content-length: ${bodyBytes}`
  const lines = [
    'POST /v1/score/dep_7 HTTP/1.1',
    'authorization: Bearer sk_key',
    ...(isTraceLast ? [length, ...traces] : [...traces, length]),
    'content-type: application/json',
    `x-routing-key: ${routingKey}`,
  ]
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n{}`)
}

const USUAL: Head = {
  traceparents: [ONE],
  bodyBytes: '2',
  isTraceLast: false,
  routingKey: 'applicant',
}

function read(head: Head): PlainHead {
  const found = PlainHead.read(bytesOf(head), BODY_BYTES_MAX)
  if (found === null) throw new Error('the head is not plain')
  return found
}

const traceparent = fc.oneof(
  fc.constantFrom(...TRACES),
  fc.constantFrom(ONE.toUpperCase(), ONE.slice(1), `${ONE}0`, ONE.replace('00-', 'ff-'), '0'),
)
const anyHead: fc.Arbitrary<Head> = fc.record({
  traceparents: fc.array(traceparent, { maxLength: 2 }),
  bodyBytes: fc.constantFrom('2', '3', '1200', '02', ' 2', '2x'),
  isTraceLast: fc.boolean(),
  routingKey: fc.constantFrom('applicant', 'another'),
})

// What a connection remembers must never decide what a request says.
test('a head that is recognised is the one that reading it gives', () => {
  fc.assert(
    fc.property(anyHead, anyHead, (first, second) => {
      const known = PlainHead.read(bytesOf(first), BODY_BYTES_MAX)
      const bytes = bytesOf(second)
      const recognised = known?.next(bytes, BODY_BYTES_MAX) ?? null
      if (recognised === null) return
      const anew = PlainHead.read(bytes, BODY_BYTES_MAX)
      expect(recognised.score).toEqual(anew?.score)
      expect(recognised.bytes).toBe(anew?.bytes)
    }),
    { numRuns: 3_000 },
  )
})

describe.each([false, true])('with the trace after Content-Length: %s', (isTraceLast) => {
  const usual = { ...USUAL, isTraceLast }

  // A gateway makes an id for each request.
  test('a further request with another trace is recognised, and has its own trace', () => {
    const first = read(usual)
    const next = first.next(bytesOf({ ...usual, traceparents: [OTHER] }), BODY_BYTES_MAX)
    expect(next?.score.traceparent).toBe(OTHER)
    const last = next?.next(bytesOf({ ...usual, bodyBytes: '1200' }), BODY_BYTES_MAX)
    expect(last?.score).toMatchObject({ traceparent: ONE, bodyBytes: 1_200 })
    expect(first.score.traceparent).toBe(ONE)
  })

  test('a further request that is the same but for its body is the same head', () => {
    const first = read(usual)
    expect(first.next(bytesOf(usual), BODY_BYTES_MAX)).toBe(first)
  })

  test.each([
    ['no trace', []],
    ['an invalid one', [ONE.replace('a', 'g')]],
    ['two', [ONE, ONE]],
  ])('a further request with %s is read anew', (_, traceparents) => {
    const bytes = bytesOf({ ...usual, traceparents })
    expect(read(usual).next(bytes, BODY_BYTES_MAX)).toBeNull()
    expect(PlainHead.read(bytes, BODY_BYTES_MAX)?.score.traceparent).toBeNull()
  })
})
