import type { Socket } from 'node:net'
import { JSON_TYPE } from '../../http/reply.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Exchange, ScoreHeaders } from './exchange.ts'
import { type Fallback, handOver } from './fallback.ts'
import { httpDate } from './http-date.ts'
import { PlainHead } from './plain-head.ts'
import type { ScoreHead } from './score-head.ts'

export interface ConnectionOptions {
  /** Longer bodies are left to Node. */
  readonly bodyBytesMax: number
  /** A connection ends after so long without a byte. */
  readonly idleMs: number
  readonly clock: Clock
  /** Value of the header `Keep-Alive`. */
  readonly keepAlive: string
  /** Takes on a request; false: it is Node's, and nothing is known of it. */
  readonly take: (exchange: Exchange) => boolean
  /** Gives the connection to Node's server, for good. */
  readonly toNode: (socket: Socket) => void
  /** Is called once, when this object has nothing to do with the connection any more. */
  readonly onLeave: (connection: ScoreConnection) => void
}

/** Node gets a body that is not complete after this time, and has time-outs of its own for it. */
const BODY_WAIT_MS = 100

/**
 * A connection whose requests are scores that need nothing of HTTP but their head and body.
 *
 * States: *idle*, between requests; *partial*, with a complete head and a part of its body;
 * *busy*, from a complete request to its answer; *left*, when the connection is Node's, or has
 * ended.
 *
 * It takes a request only if one read ends where the request ends: no byte of a request is looked
 * at while another one waits for its answer. Whatever else arrives makes the connection Node's,
 * with all bytes from the first one of a request that has no answer yet. So there is no second
 * opinion about where a request ends, and nothing is kept that Node would bound otherwise: at most
 * a head of 8 KiB, a body of `bodyBytesMax`, and one read, for at most `BODY_WAIT_MS`.
 */
export class ScoreConnection implements Exchange {
  receivedAtMs = 0
  private readonly socket: Socket
  private readonly options: ConnectionOptions
  private state: 'idle' | 'partial' | 'busy' | 'left' = 'idle'
  /** The head of the latest request. */
  private latest: PlainHead | null = null
  /** The bytes of the request in the states partial and busy. */
  private request: Buffer = NOTHING
  /** What came while busy. */
  private rest: Buffer = NOTHING
  private hasEnded = false
  private bodyTimer: NodeJS.Timeout | undefined

  constructor(socket: Socket, options: ConnectionOptions) {
    this.socket = socket
    this.options = options
    socket.setTimeout(options.idleMs)
    socket.on('data', this.onData)
    socket.on('end', this.onEnd)
    socket.on('timeout', this.onTimeout)
    socket.on('error', this.onError)
    socket.on('close', this.onClose)
  }

  get head(): ScoreHead {
    if (this.latest === null) throw new Error('the connection has no request')
    return this.latest.score
  }

  get isIdle(): boolean {
    return this.state === 'idle'
  }

  readBody(): Buffer {
    const { latest, request } = this
    return request.subarray(latest?.bytes)
  }

  awaitBody(): void {
    throw new Error('a request is taken when its body is complete')
  }

  answer({ requestId, quota, remaining }: ScoreHeaders, text: string): void {
    if (this.state !== 'busy') return
    const { socket } = this
    const bytes = Buffer.byteLength(text)
    const answer =
      `HTTP/1.1 200 OK\r\nx-request-id: ${requestId}\r\nx-ratelimit-limit: ${quota}\r\n` +
      `x-ratelimit-remaining: ${remaining}\r\ncontent-type: ${JSON_TYPE}\r\n` +
      `content-length: ${bytes}\r\nDate: ${httpDate()}\r\nConnection: keep-alive\r\n` +
      `Keep-Alive: ${this.options.keepAlive}\r\n\r\n${text}`
    // A text of ASCII alone needs no conversion.
    socket.write(answer, bytes === text.length ? 'latin1' : 'utf8')
    this.request = NOTHING
    if (this.hasEnded) {
      this.leave()
      socket.end()
    } else if (this.rest.length > 0) this.toNode(this.rest)
    else this.state = 'idle'
  }

  fallBack(known: Fallback): void {
    if (this.state !== 'busy') return
    const { head, request, rest } = this
    // Node reads the body from the bytes that it gets.
    const fallback = { ...known, body: null }
    handOver(this.socket, { head, receivedAtMs: this.receivedAtMs, fallback })
    this.toNode(rest.length === 0 ? request : Buffer.concat([request, rest]))
  }

  /** Ends the connection, whatever it does. */
  destroy(): void {
    this.leave()
    this.socket.destroy()
  }

  private readonly onData = (chunk: Buffer): void => {
    if (this.state === 'idle') this.begin(chunk)
    else if (this.state === 'partial') this.continue(Buffer.concat([this.request, chunk]))
    else {
      this.rest = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk])
      this.socket.pause()
    }
  }

  private begin(chunk: Buffer): void {
    const { bodyBytesMax } = this.options
    const head = this.latest?.next(chunk, bodyBytesMax) ?? PlainHead.read(chunk, bodyBytesMax)
    // Node waits for a client that does not read its answers.
    if (head === null || this.socket.writableNeedDrain) {
      this.toNode(chunk)
      return
    }
    this.latest = head
    this.receivedAtMs = this.options.clock.monotonicMs()
    this.continue(chunk)
  }

  private continue(bytes: Buffer): void {
    const { latest } = this
    const missing = latest === null ? -1 : latest.bytes + latest.score.bodyBytes - bytes.length
    if (missing < 0) {
      this.toNode(bytes)
      return
    }
    this.request = bytes
    if (missing > 0) {
      this.state = 'partial'
      this.bodyTimer ??= setTimeout(this.onBodyLate, BODY_WAIT_MS)
      return
    }
    this.stopTimer()
    this.state = 'busy'
    if (!this.options.take(this)) this.toNode(bytes)
  }

  private readonly onBodyLate = (): void => {
    handOver(this.socket, { head: this.head, receivedAtMs: this.receivedAtMs, fallback: null })
    this.toNode(this.request)
  }

  private readonly onEnd = (): void => {
    if (this.state === 'busy') this.hasEnded = true
    else {
      // Nobody would read an answer to a request that is not complete.
      this.leave()
      this.socket.end()
    }
  }

  private readonly onTimeout = (): void => this.destroy()

  // The event `close` follows.
  private readonly onError = (): void => undefined

  private readonly onClose = (): void => this.leave()

  private stopTimer(): void {
    clearTimeout(this.bodyTimer)
    this.bodyTimer = undefined
  }

  /** Makes the connection Node's, which reads these bytes first. */
  private toNode(bytes: Buffer): void {
    const { socket, options } = this
    this.leave()
    socket.setTimeout(0)
    if (socket.destroyed) return
    socket.pause()
    if (bytes.length > 0) socket.unshift(bytes)
    options.toNode(socket)
    // Node handles its errors from now on.
    socket.off('error', this.onError)
    socket.resume()
  }

  private leave(): void {
    if (this.state === 'left') return
    const { socket, options } = this
    this.stopTimer()
    this.state = 'left'
    this.request = NOTHING
    this.rest = NOTHING
    socket.off('data', this.onData)
    socket.off('end', this.onEnd)
    socket.off('timeout', this.onTimeout)
    socket.off('close', this.onClose)
    options.onLeave(this)
  }
}

const NOTHING = Buffer.alloc(0)
