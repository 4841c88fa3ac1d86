import { maxHeaderSize } from '../../platform/node-http.ts'
import { TRACEPARENT_CHARS, traceparentOf } from '../../platform/tracing/traceparent.ts'
import { scoreUrlOf } from '../score-request.ts'
import { type ScoreHead, scoreHeadOf } from './score-head.ts'

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
 * The head of a request to score at the start of some bytes.
 *
 * It remembers where the digits of Content-Length and the value of `traceparent` stand, because a
 * client's next request usually differs in them only.
 */
export class PlainHead {
  readonly score: ScoreHead
  /** What stands around the digits of Content-Length. */
  private readonly beforeLength: Part
  private readonly afterLength: Part

  private constructor(score: ScoreHead, beforeLength: Part, afterLength: Part) {
    this.score = score
    this.beforeLength = beforeLength
    this.afterLength = afterLength
  }

  /** Length of the head in bytes, with the empty line. */
  get bytes(): number {
    const digits = String(this.score.bodyBytes).length
    return this.beforeLength.bytes.length + digits + this.afterLength.bytes.length
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
    const asked = scoreUrlOf(url)
    if (asked === null) return null
    const rawHeaders: string[] = []
    let lengthStart = -1
    let length = ''
    let traceStart = -1
    const linesStart = text.length - lines.length
    for (let at = 0; at < lines.length; ) {
      const lineEnd = lines.indexOf('\r\n', at)
      const colon = lines.indexOf(':', at)
      const valueStart = lines.charCodeAt(colon + 1) === SPACE ? colon + 2 : colon + 1
      const name = lines.slice(at, colon).toLowerCase()
      const value = lines.slice(valueStart, lineEnd)
      if (LEFT_TO_NODE.has(name)) return null
      if (name === 'connection' && value.toLowerCase() !== 'keep-alive') return null
      if (name === 'content-length') {
        if (!PLAIN_LENGTH.test(value)) return null
        lengthStart = linesStart + valueStart
        length = value
      }
      if (name === 'traceparent') traceStart = linesStart + valueStart
      rawHeaders.push(name, value)
      at = lineEnd + 2
    }
    if (rawHeaders.length > 2 * FIELDS_MAX) return null
    const score = scoreHeadOf(asked, rawHeaders, bodyBytesMax)
    if (score === null || lengthStart === -1) return null
    // A value that is not valid is compared like all others, and so are two of them.
    if (score.traceparent === null) traceStart = -1
    const partOf = (from: number, to: number): Part => ({
      bytes: Buffer.from(bytes.subarray(from, to)),
      traceAt: traceStart >= from && traceStart < to ? traceStart - from : -1,
    })
    return new PlainHead(
      score,
      partOf(0, lengthStart),
      partOf(lengthStart + length.length, end + HEAD_END.length),
    )
  }

  /**
   * The head at the start of other bytes, if it differs from this one in the digits of
   * Content-Length and in a valid `traceparent` only.
   *
   * @returns null for any other head, which has to be read
   */
  next(bytes: Buffer, bodyBytesMax: number): PlainHead | null {
    const { beforeLength, afterLength, score } = this
    let at = beforeLength.bytes.length
    if (bytes.length < at + afterLength.bytes.length) return null
    if (!isPartAt(beforeLength, bytes, 0)) return null
    let bodyBytes = 0
    for (;;) {
      const digit = (bytes[at] ?? 0) - ZERO
      if (!(digit >= 0 && digit <= 9)) break
      bodyBytes = 10 * bodyBytes + digit
      // Also refuses a length that begins with zero.
      if (bodyBytes === 0 || bodyBytes > bodyBytesMax) return null
      at++
    }
    if (bodyBytes === 0) return null
    if (at + afterLength.bytes.length > bytes.length) return null
    if (!isPartAt(afterLength, bytes, at)) return null
    let { traceparent } = score
    if (traceparent !== null) {
      const { traceAt } = beforeLength
      traceparent = traceparentAt(bytes, traceAt === -1 ? at + afterLength.traceAt : traceAt)
      if (traceparent === null) return null
    }
    if (bodyBytes === score.bodyBytes && traceparent === score.traceparent) return this
    return new PlainHead({ ...score, bodyBytes, traceparent }, beforeLength, afterLength)
  }
}

/** A part of a head. */
interface Part {
  readonly bytes: Buffer
  /** Where the value of a valid `traceparent` begins in it; -1: not in this part. */
  readonly traceAt: number
}

/** Whether the part is in the bytes at a place, whatever stands for `traceparent`. */
function isPartAt({ bytes: part, traceAt }: Part, bytes: Buffer, at: number): boolean {
  const { length } = part
  if (traceAt === -1) return bytes.compare(part, 0, length, at, at + length) === 0
  const traceEnd = traceAt + TRACEPARENT_CHARS
  return (
    bytes.compare(part, 0, traceAt, at, at + traceAt) === 0 &&
    bytes.compare(part, traceEnd, length, at + traceEnd, at + length) === 0
  )
}

function traceparentAt(bytes: Buffer, at: number): string | null {
  return traceparentOf(bytes.toString('latin1', at, at + TRACEPARENT_CHARS))
}

const SPACE = 0x20
const ZERO = 0x30
