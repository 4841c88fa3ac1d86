import fc from 'fast-check'

// Byte streams that a client, or somebody who wants two readers to disagree, may send.

export const SLUG = 'dep_7'
export const KEY = 'sk_key'

const BODIES = [
  '{}',
  '{"income":1200}',
  '{"job":"größer"}',
  // A second reader would find a request in it.
  `POST /v1/score/${SLUG} HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}`,
  'GET /admin HTTP/1.1\r\nhost: x\r\n\r\n',
  '0\r\n\r\n',
  '2\r\n{}\r\n0\r\n\r\n',
  '\r\n\r\n',
]

const USUAL_HEADERS = [
  'host: scoreline.example',
  `authorization: Bearer ${KEY}`,
  'content-type: application/json',
]

/** Headers that are fine, and such that readers of HTTP have disagreed about. */
const FURTHER_HEADERS = [
  'accept: */*',
  'Connection: keep-alive',
  'connection: Keep-Alive',
  'user-agent:curl/8',
  'x-routing-key: applicant 7',
  'x-reference-id: loan-7',
  'traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  'Traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00',
  'traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0x',
  'X-Forwarded-For: 192.0.2.1, 192.0.2.2',
  'connection: close',
  'connection: content-length',
  'connection: keep-alive, upgrade',
  'upgrade: websocket',
  'expect: 100-continue',
  'expect: 200-maybe',
  'te: trailers',
  'trailer: x-routing-key',
  'transfer-encoding: chunked',
  'Transfer-Encoding: identity',
  'transfer-encoding: chunked, identity',
  'transfer-encoding: xchunked',
  'transfer-encoding : chunked',
  'transfer-encoding:\tchunked',
  'transfer-encoding: \x0bchunked',
  'transfer_encoding: chunked',
  ' transfer-encoding: chunked',
  'x: x\ntransfer-encoding: chunked',
  'x: x\rtransfer-encoding: chunked',
  'x: x\r\n transfer-encoding: chunked',
  'x: x\0y',
  'x: caf\u00e9',
  'x\0: y',
  'x y: z',
  ': empty',
  'no colon',
  'x:',
  'x:  two blanks',
  'x: trailing ',
  'x: trailing\t',
  'content-encoding: identity',
  'content-length: 0',
  'content-length: 2',
  'Content-Length: 15',
  'content-length : 2',
  'content-length: +2',
  'content-length: 2, 2',
  'content-length: 02',
  'content-length: 2\r\n 5',
  'idempotency-key: a',
  'authorization: Bearer sk_other',
  'content-type: text/plain',
]

/** What is said of a body of so many bytes: mostly the truth. */
const LENGTHS: ReadonlyArray<(bytes: number) => string> = [
  (bytes) => `content-length: ${bytes}`,
  (bytes) => `Content-Length:${bytes}`,
  (bytes) => `content-length: ${bytes + 1}`,
  (bytes) => `content-length: ${Math.max(0, bytes - 1)}`,
  (bytes) => `content-length: 0${bytes}`,
  (bytes) => `content-length: +${bytes}`,
  (bytes) => `content-length: 0x${bytes.toString(16)}`,
  (bytes) => `content-length: ${bytes} `,
  (bytes) => `content-length: ${bytes}\r\ncontent-length: ${bytes}`,
  (bytes) => `content-length: 1${'0'.repeat(20)}${bytes}`,
  () => 'transfer-encoding: chunked',
  () => 'accept: */*',
]

const REQUEST_LINES = [
  `POST /v1/score/${SLUG} HTTP/1.1`,
  `POST  /v1/score/${SLUG} HTTP/1.1`,
  `POST /v1/score/${SLUG} HTTP/1.1 `,
  `POST /v1/score/${SLUG} HTTP/1.0`,
  `POST /v1/score/${SLUG} HTTP/2.0`,
  `POST /v1/score/${SLUG}`,
  `post /v1/score/${SLUG} HTTP/1.1`,
  `POST /v1/score/${SLUG}?a HTTP/1.1`,
  `POST http://x/v1/score/${SLUG} HTTP/1.1`,
  `\r\nPOST /v1/score/${SLUG} HTTP/1.1`,
  'GET /health HTTP/1.1',
  'PUT /v1/models/a HTTP/1.1',
]

/** The first of a list in most cases, else any of it. */
function mostlyFirst<Item>(items: readonly [Item, ...Item[]] | readonly Item[], weight: number) {
  const [first] = items as readonly [Item, ...Item[]]
  return fc.oneof(
    { weight, arbitrary: fc.constant(first) },
    { weight: 1, arbitrary: fc.constantFrom(...items) },
  )
}

const usualRequest = fc
  .record({
    body: fc.constantFrom(...BODIES),
    further: fc.array(fc.constantFrom(...FURTHER_HEADERS.slice(0, 7)), { maxLength: 2 }),
  })
  .map(({ body, further }) => {
    const length = `content-length: ${Buffer.byteLength(body)}`
    const lines = [REQUEST_LINES[0], ...USUAL_HEADERS, ...further, length]
    return `${lines.join('\r\n')}\r\n\r\n${body}`
  })

const oddRequest = fc
  .record({
    line: mostlyFirst(REQUEST_LINES, 4),
    body: fc.constantFrom(...BODIES),
    readLength: mostlyFirst(LENGTHS, 2),
    further: fc.array(fc.constantFrom(...FURTHER_HEADERS), { maxLength: 2 }),
    lineEnd: mostlyFirst(['\r\n', '\n', '\r'], 12),
    order: fc.infiniteStream(fc.nat(7)),
  })
  .map(({ line, body, readLength, further, lineEnd, order }) => {
    const headers = [...USUAL_HEADERS, ...further, readLength(Buffer.byteLength(body))]
    const sorted = headers
      .map((text) => ({ text, rank: order.next().value as number }))
      .sort((one, other) => one.rank - other.rank)
      .map(({ text }) => text)
    return [line, ...sorted, '', body].join(lineEnd)
  })

const NOISE = ['\r', '\n', '\r\n', '\0', ' ', '\t', ':', ',', '0', '9', 'a', '\x7f', '\u0080']

/** A request with one character taken out, put in or changed. */
const damagedRequest = fc
  .record({
    text: fc.oneof(usualRequest, oddRequest),
    at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
    noise: fc.constantFrom(...NOISE),
    removed: fc.nat(2),
  })
  .map(({ text, at, noise, removed }) => {
    const index = Math.floor(at * text.length)
    return text.slice(0, index) + noise + text.slice(index + removed)
  })

/** Requests of one connection, and the chunks in which their bytes arrive. */
export const byteStream = fc
  .record({
    requests: fc.array(
      fc.oneof(
        { weight: 6, arbitrary: usualRequest },
        { weight: 3, arbitrary: oddRequest },
        { weight: 2, arbitrary: damagedRequest },
      ),
      { minLength: 1, maxLength: 5 },
    ),
    cuts: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 4 }),
    isCutBetween: fc.boolean(),
  })
  .map(({ requests, cuts, isCutBetween }) => {
    // Characters up to U+00FF stand for one byte each, but for the body's own.
    const parts = requests.map((text) => Buffer.from(text, 'utf8'))
    const bytes = Buffer.concat(parts)
    let end = 0
    const ends = isCutBetween ? parts.map((part) => (end += part.length)) : []
    const at = [...cuts.map((cut) => Math.floor(cut * bytes.length)), ...ends, bytes.length]
    const sorted = [...new Set(at)].filter((cut) => cut > 0).sort((one, other) => one - other)
    return sorted.map((cut, index) => bytes.subarray(sorted[index - 1] ?? 0, cut))
  })
