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
  readonly references: readonly string[]
  readonly routingKeys: readonly string[]
  readonly keys: readonly string[]
}

function toBytes(head: Head): Buffer {
  const { traceparents, bodyBytes, isTraceLast, references, routingKeys, keys } = head
  const traces = traceparents.map((one) => `traceparent: ${one}`)
  const length = `content-length: ${bodyBytes}`
  const lines = [
    'POST /v1/score/dep_7 HTTP/1.1',
    'host: x',
    'authorization: Bearer sk_key',
    ...(isTraceLast ? [length, ...traces] : [...traces, length]),
    'content-type: application/json',
    ...routingKeys.map((one) => `x-routing-key: ${one}`),
    ...keys.map((one) => `idempotency-key: ${one}`),
    ...references.map((one) => `X-Reference-Id:${one}`),
    'accept: */*',
  ]
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n{}`, 'latin1')
}

const USUAL: Head = {
  traceparents: [ONE],
  bodyBytes: '2',
  isTraceLast: false,
  references: ['loan-7'],
  routingKeys: ['applicant 7'],
  keys: ['loan 7, first try'],
}

function read(head: Head): PlainHead {
  const found = PlainHead.read(toBytes(head), BODY_BYTES_MAX)
  if (found === null) throw new Error('the head is not plain')
  return found
}

const traceparent = fc.oneof(
  fc.constantFrom(...TRACES),
  fc.constantFrom(ONE.toUpperCase(), ONE.slice(1), `${ONE}0`, ONE.replace('00-', 'ff-'), '0'),
)
/** Also such as another reader of HTTP might understand in another way. */
const value = fc.oneof(
  fc.constantFrom(...['', ' ', 'a', 'loan-7', ' loan-8', 'x'.repeat(128), 'x'.repeat(129)]),
  fc.constantFrom(
    ...['a b', 'a ', '  a', '\ta', 'é', 'a\r', 'a\nb', 'a\r\n b', 'a\r\nte: b', 'a\0'],
  ),
  fc.string({ maxLength: 4 }),
)
const anyHead: fc.Arbitrary<Head> = fc.record({
  traceparents: fc.array(traceparent, { maxLength: 2 }),
  bodyBytes: fc.constantFrom('2', '3', '1200', '02', ' 2', '2x'),
  isTraceLast: fc.boolean(),
  references: fc.array(value, { maxLength: 2 }),
  routingKeys: fc.array(value, { maxLength: 2 }),
  keys: fc.array(value, { maxLength: 2 }),
})

// What a connection remembers must never decide what a request says.
test('a head that is recognised is the one that reading it gives', () => {
  fc.assert(
    fc.property(anyHead, anyHead, (first, second) => {
      const known = PlainHead.read(toBytes(first), BODY_BYTES_MAX)
      const bytes = toBytes(second)
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
    const next = first.next(toBytes({ ...usual, traceparents: [OTHER] }), BODY_BYTES_MAX)
    expect(next?.score.traceparent).toBe(OTHER)
    const last = next?.next(toBytes({ ...usual, bodyBytes: '1200' }), BODY_BYTES_MAX)
    expect(last?.score).toMatchObject({ traceparent: ONE, bodyBytes: 1_200 })
    expect(first.score.traceparent).toBe(ONE)
  })

  test('a further request with other values of any length is recognised', () => {
    const first = read(usual)
    for (const [reference, routingKey, idempotencyKey] of [
      ['loan-8', 'applicant 8', 'loan 8'],
      ['1', 'x'.repeat(300), 'x'.repeat(255)],
      ['!'.repeat(128), '~', '~'],
    ] as const) {
      const keys = [idempotencyKey]
      const other = { ...usual, references: [reference], routingKeys: [routingKey], keys }
      const next = first.next(toBytes({ ...other, bodyBytes: '77' }), BODY_BYTES_MAX)
      const score = { ...first.score, reference, routingKey, idempotencyKey, bodyBytes: 77 }
      expect(next?.score).toEqual(score)
      expect(next?.bytes).toBe(toBytes({ ...other, bodyBytes: '77' }).length - 2)
    }
    expect(first.score.reference).toBe('loan-7')
  })

  test('a head that has grown beyond its bound is left to Node', () => {
    const routingKeys = ['x'.repeat(8 * 1024)]
    expect(read(usual).next(toBytes({ ...usual, routingKeys }), BODY_BYTES_MAX)).toBeNull()
    const bodyBytes = String(BODY_BYTES_MAX + 1)
    expect(read(usual).next(toBytes({ ...usual, bodyBytes }), BODY_BYTES_MAX)).toBeNull()
  })

  test('a further request that is not there as a whole is read anew', () => {
    const bytes = toBytes({ ...usual, references: ['loan-8'] })
    for (let end = 0; end < bytes.length - 2; end++) {
      expect(read(usual).next(bytes.subarray(0, end), BODY_BYTES_MAX)).toBeNull()
    }
  })

  test('a further request that is the same but for its body is the same head', () => {
    const first = read(usual)
    expect(first.next(toBytes(usual), BODY_BYTES_MAX)).toBe(first)
  })

  test.each([
    ['no trace', []],
    ['an invalid one', [ONE.replace('a', 'g')]],
    ['two', [ONE, ONE]],
  ])('a further request with %s is read anew', (_, traceparents) => {
    const bytes = toBytes({ ...usual, traceparents })
    expect(read(usual).next(bytes, BODY_BYTES_MAX)).toBeNull()
    expect(PlainHead.read(bytes, BODY_BYTES_MAX)?.score.traceparent).toBeNull()
  })
})
