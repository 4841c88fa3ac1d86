import { maxHeaderSize } from 'node:http'
import { slugOf } from '../score-request.ts'
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
 * It remembers where the digits of Content-Length stand, because a client's next request usually
 * differs in them only.
 */
export class PlainHead {
  readonly score: ScoreHead
  private readonly beforeLength: Buffer
  private readonly afterLength: Buffer

  private constructor(score: ScoreHead, beforeLength: Buffer, afterLength: Buffer) {
    this.score = score
    this.beforeLength = beforeLength
    this.afterLength = afterLength
  }

  /** Length of the head in bytes, with the empty line. */
  get bytes(): number {
    const digits = String(this.score.bodyBytes).length
    return this.beforeLength.length + digits + this.afterLength.length
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
    const slug = slugOf(url)
    if (slug === undefined) return null
    const rawHeaders: string[] = []
    let lengthStart = -1
    let length = ''
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
      rawHeaders.push(name, value)
      at = lineEnd + 2
    }
    if (rawHeaders.length > 2 * FIELDS_MAX) return null
    const score = scoreHeadOf(slug, rawHeaders, bodyBytesMax)
    if (score === null || lengthStart === -1) return null
    return new PlainHead(
      score,
      Buffer.from(bytes.subarray(0, lengthStart)),
      Buffer.from(bytes.subarray(lengthStart + length.length, end + HEAD_END.length)),
    )
  }

  /**
   * The head at the start of other bytes, if it differs from this one in the digits of
   * Content-Length only.
   *
   * @returns null for any other head, which has to be read
   */
  next(bytes: Buffer, bodyBytesMax: number): PlainHead | null {
    const { beforeLength, afterLength, score } = this
    let at = beforeLength.length
    if (bytes.length < at + afterLength.length) return null
    if (bytes.compare(beforeLength, 0, at, 0, at) !== 0) return null
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
    const end = at + afterLength.length
    if (end > bytes.length) return null
    if (bytes.compare(afterLength, 0, afterLength.length, at, end) !== 0) return null
    if (bodyBytes === score.bodyBytes) return this
    return new PlainHead({ ...score, bodyBytes }, beforeLength, afterLength)
  }
}

const SPACE = 0x20
const ZERO = 0x30
