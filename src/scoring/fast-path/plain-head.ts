import { isIdempotencyKey } from '../../http/idempotency/service.ts'
import { maxHeaderSize } from '../../platform/node-http.ts'
import { readTraceparent } from '../../platform/tracing/traceparent.ts'
import { isReference, readScoreUrl } from '../score-request.ts'
import { readScoreHead, type ScoreHead } from './score-head.ts'

/** A longer head is left to Node. */
const HEAD_BYTES_MAX = Math.min(8 * 1024, maxHeaderSize)
/** Node refuses a head of more than 1,000 fields. */
const FIELDS_MAX = 200
/**
 * A request line and headers in the one form in which no two readers of HTTP differ: names are
 * tokens, values are printable ASCII, at most one space is before a value and none after it, every
 * line ends in CR LF, and no line is folded or empty.
 */
const PLAIN_HEAD =
  /^POST (\/[!-~]*) HTTP\/1\.1\r\n((?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+: ?[!-~](?:[ -~]*[!-~])?\r\n)+)$/
const PLAIN_LENGTH = /^[1-9][0-9]*$/
const PLAIN_VALUE = /^[!-~](?:[ -~]*[!-~])?$/
const HEAD_END = '\r\n\r\n'
/** Headers that change how a request is read or answered. Node knows what they mean. */
const LEFT_TO_NODE: ReadonlySet<string> = new Set([
  'expect',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/**
 * Headers whose values differ between the requests of one client, by the fields of `ScoreHead`, and
 * which of their values are in plain form and count.
 */
const VARYING = {
  bodyBytes: { header: 'content-length', counts: (value) => PLAIN_LENGTH.test(value) },
  reference: { header: 'x-reference-id', counts: isReference },
  idempotencyKey: {
    header: 'idempotency-key',
    counts: (value) => PLAIN_VALUE.test(value) && isIdempotencyKey(value),
  },
  routingKey: { header: 'x-routing-key', counts: (value) => PLAIN_VALUE.test(value) },
  traceparent: { header: 'traceparent', counts: (value) => readTraceparent(value) !== null },
} as const satisfies Readonly<
  Partial<Record<keyof ScoreHead, { readonly header: string; counts(value: string): boolean }>>
>
type Field = keyof typeof VARYING
const FIELDS: ReadonlyMap<string, Field> = new Map(
  Object.entries(VARYING).map(([field, { header }]) => [header, field as Field]),
)

/** A part of a head. */
interface Part {
  /** Bytes before the value. */
  readonly before: Buffer
  readonly field: Field
}

/**
 * The head of a request to score at the start of some bytes.
 *
 * It remembers where the values of `VARYING` stand, because a client's next request usually differs
 * in them only. In process, in turn, `read` takes 2.4 us for a head of the bench and 4.3 us for one
 * with a reference and a trace, `next` 0.5 and 1.5: 6 and 8 % of the processor time of a score
 * (`npm run bench -- single`).
 */
export class PlainHead {
  readonly score: ScoreHead
  /** Length of the head in bytes, with the empty line. */
  readonly bytes: number
  private readonly parts: readonly Part[]
  /** Bytes after the last value. */
  private readonly rest: Buffer

  private constructor(score: ScoreHead, bytes: number, parts: readonly Part[], rest: Buffer) {
    this.score = score
    this.bytes = bytes
    this.parts = parts
    this.rest = rest
  }

  /**
   * Reads a head.
   *
   * @param bytes what a connection received, from the first byte of a request on
   * @returns null for a head that is not complete, not in plain form, or not that of a usual score
   */
  static read(bytes: Buffer, bodyBytesMax: number): PlainHead | null {
    const end = bytes.indexOf(HEAD_END, 0, 'latin1')
    if (end === -1 || end > HEAD_BYTES_MAX) return null
    const text = bytes.toString('latin1', 0, end + 2)
    const [, url = '', lines = ''] = PLAIN_HEAD.exec(text) ?? []
    const asked = readScoreUrl(url)
    if (asked === null) return null
    const rawHeaders: string[] = []
    const values: { readonly field: Field; readonly start: number; readonly end: number }[] = []
    const linesStart = text.length - lines.length
    for (let at = 0; at < lines.length; ) {
      const lineEnd = lines.indexOf('\r\n', at)
      const colon = lines.indexOf(':', at)
      const valueStart = lines.charCodeAt(colon + 1) === SPACE ? colon + 2 : colon + 1
      const name = lines.slice(at, colon).toLowerCase()
      const value = lines.slice(valueStart, lineEnd)
      if (LEFT_TO_NODE.has(name)) return null
      if (name === 'connection' && value.toLowerCase() !== 'keep-alive') return null
      if (name === 'content-length' && !PLAIN_LENGTH.test(value)) return null
      const field = FIELDS.get(name)
      if (field !== undefined) {
        values.push({ field, start: linesStart + valueStart, end: linesStart + lineEnd })
      }
      rawHeaders.push(name, value)
      at = lineEnd + 2
    }
    if (rawHeaders.length > 2 * FIELDS_MAX) return null
    const score = readScoreHead(asked, rawHeaders, bodyBytesMax)
    if (score === null) return null
    const parts: Part[] = []
    let from = 0
    for (const { field, start, end: valueEnd } of values) {
      // A value that does not count is compared like all others, and so are two of them.
      if (score[field] === null) continue
      parts.push({ before: Buffer.from(bytes.subarray(from, start)), field })
      from = valueEnd
    }
    const headBytes = end + HEAD_END.length
    return new PlainHead(score, headBytes, parts, Buffer.from(bytes.subarray(from, headBytes)))
  }

  /**
   * The head at the start of other bytes, if it differs from this one in values of `VARYING` only,
   * all of which count.
   *
   * @returns null for any other head, which has to be read
   */
  next(bytes: Buffer, bodyBytesMax: number): PlainHead | null {
    const { score, parts, rest } = this
    let other: Writable<ScoreHead> | null = null
    let at = 0
    for (const { before, field } of parts) {
      if (!isAt(before, bytes, at)) return null
      const start = at + before.length
      at = start
      while (at < bytes.length && bytes[at] !== CARRIAGE_RETURN) at++
      const value = bytes.toString('latin1', start, at)
      if (value === String(score[field])) continue
      if (!VARYING[field].counts(value)) return null
      other ??= { ...score }
      if (field === 'bodyBytes') other.bodyBytes = Number(value)
      else other[field] = value
    }
    if (!isAt(rest, bytes, at)) return null
    if (other === null) return this
    const headBytes = at + rest.length
    if (other.bodyBytes > bodyBytesMax || headBytes > HEAD_BYTES_MAX + HEAD_END.length) return null
    return new PlainHead(other, headBytes, parts, rest)
  }
}

type Writable<Fields> = { -readonly [Name in keyof Fields]: Fields[Name] }

/** Tells whether a part of a head is in the bytes at a place. */
function isAt(part: Buffer, bytes: Buffer, at: number): boolean {
  const end = at + part.length
  return end <= bytes.length && bytes.compare(part, 0, part.length, at, end) === 0
}

const SPACE = 0x20
const CARRIAGE_RETURN = 0x0d
