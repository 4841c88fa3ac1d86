import type { Agent, ClientRequest } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { Agent as HttpAgent, request as httpRequest } from '../node-http.ts'
import { exportBody, type SpanTexts } from './otlp.ts'
import type { TracingSettings } from './settings.ts'

/** As many as the SDKs of OpenTelemetry keep. A span takes about 600 bytes. */
const QUEUE_SPANS_MAX = 2_048
const BATCH_SPANS_MAX = 512
/** Time for which spans gather before they are sent. */
const GATHER_MS = 1_000
const SEND_TIMEOUT_MS = 10_000
/** Time for which the end of the process waits for what is still to be sent. */
const CLOSE_MS = 1_000
/** Waits before a batch is sent again; after the last one it is dropped. */
const RETRY_MS = [1_000, 2_000, 4_000, 8_000]
/** Answers that ask the sender to come again, besides 503 and such. */
const TOO_MANY_REQUESTS = 429

/** Why the collector did not take a batch. */
export interface SendFailure {
  /** Status of its answer; null if there was none. */
  readonly status: number | null
  /** Error of the connection, such as ECONNREFUSED; null if there was an answer. */
  readonly code: string | null
}

export interface SenderLog {
  /** The first failure after a success. */
  failing(failure: SendFailure): void
  recovered(): void
}

interface SenderOptions {
  readonly settings: Pick<TracingSettings, 'url' | 'headers' | 'resource'>
  readonly log: SenderLog
  /** Replaces the waits, for tests. */
  readonly gatherMs?: number
  readonly retryMs?: readonly number[]
}

/**
 * Sends spans to a collector, OTLP by HTTP as JSON.
 *
 * States: *idle*, without spans; *gathering*, until a second has passed or a batch is full;
 * *sending*, one batch at a time, again after a failure; *closed*. Spans that come while the queue
 * is full, and those of a batch that is given up, are counted as dropped. Nobody waits for it but
 * `close`.
 */
export class SpanSender {
  readonly counts = { sent: 0, dropped: 0 }
  private readonly options: SenderOptions
  private readonly body: (spanTexts: readonly string[]) => string
  private readonly agent: Agent
  private queue: SpanTexts[] = []
  /** Spans in the queue. */
  private waiting = 0
  private timer: NodeJS.Timeout | undefined
  private sending: Promise<void> | null = null
  private isFailing = false
  private isClosed = false
  /** Ends the wait before a further attempt. */
  private wake: () => void = () => undefined
  /** Ends what is under way, when the time to close is over. */
  private readonly ending = new AbortController()

  constructor(options: SenderOptions) {
    this.options = options
    const { url, resource } = options.settings
    const attributes = { ...resource, 'process.pid': process.pid }
    this.body = (spanTexts) => exportBody(attributes, spanTexts)
    const agentOptions = { keepAlive: true, maxSockets: 1 }
    this.agent = url.startsWith('https:')
      ? new HttpsAgent(agentOptions)
      : new HttpAgent(agentOptions)
  }

  /** Tells whether so many spans find a place; if not, they count as dropped. */
  hasRoom(spans: number): boolean {
    const hasRoom = !this.isClosed && this.waiting + spans <= QUEUE_SPANS_MAX
    if (!hasRoom) this.counts.dropped += spans
    return hasRoom
  }

  /** To be called where there is room. */
  add(texts: SpanTexts): void {
    this.queue.push(texts)
    this.waiting += texts.spans
    if (this.sending !== null) return
    if (this.waiting >= BATCH_SPANS_MAX) this.begin()
    else this.timer ??= setTimeout(() => this.begin(), this.options.gatherMs ?? GATHER_MS).unref()
  }

  /**
   * Sends what waits, with one attempt for each batch. What is not sent within a second is dropped.
   */
  async close(): Promise<void> {
    this.isClosed = true
    this.wake()
    const timer = setTimeout(() => this.ending.abort(), CLOSE_MS)
    while (this.sending !== null || this.queue.length > 0) {
      if (this.sending === null) this.begin()
      await this.sending
    }
    clearTimeout(timer)
    this.agent.destroy()
  }

  private begin(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    this.sending = this.sendAll().finally(() => {
      this.sending = null
      if (this.queue.length > 0) this.begin()
    })
  }

  /** Never rejects. */
  private async sendAll(): Promise<void> {
    while (this.queue.length > 0) {
      const batch = this.takeBatch()
      const spans = batch.reduce((sum, texts) => sum + texts.spans, 0)
      const isSent = await this.deliver(this.body(batch.map(({ text }) => text)))
      if (isSent) this.counts.sent += spans
      else this.counts.dropped += spans
    }
  }

  private takeBatch(): SpanTexts[] {
    let spans = 0
    let requests = 0
    for (const texts of this.queue) {
      if (requests > 0 && spans + texts.spans > BATCH_SPANS_MAX) break
      spans += texts.spans
      requests++
    }
    this.waiting -= spans
    return this.queue.splice(0, requests)
  }

  private async deliver(body: string): Promise<boolean> {
    const retryMs = this.options.retryMs ?? RETRY_MS
    for (let attempt = 0; ; attempt++) {
      const failure = await this.attempt(body)
      if (failure === null) {
        if (this.isFailing) this.options.log.recovered()
        this.isFailing = false
        return true
      }
      if (!this.isFailing) this.options.log.failing(failure)
      this.isFailing = true
      const waitMs = retryMs[attempt]
      if (waitMs === undefined || !isPassing(failure) || this.isClosed) return false
      await this.wait(waitMs)
    }
  }

  /** Ends early when the sender is closed. */
  private wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms).unref()
      this.wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  private attempt(body: string): Promise<SendFailure | null> {
    return new Promise((resolve) => {
      const fail = (error: NodeJS.ErrnoException) =>
        resolve({ status: null, code: error.code ?? error.name })
      try {
        this.post(body, (status) => {
          const isTaken = status >= 200 && status < 300
          resolve(isTaken ? null : { status, code: null })
        })
          .on('error', fail)
          // All that Node says of an answer with the status 101.
          .once('close', () => resolve({ status: null, code: 'ECONNRESET' }))
          .end(body)
      } catch (error) {
        fail(error as NodeJS.ErrnoException)
      }
    })
  }

  private post(body: string, onStatus: (status: number) => void): ClientRequest {
    const { url, headers } = this.options.settings
    const request = url.startsWith('https:') ? httpsRequest : httpRequest
    const options = {
      method: 'POST',
      agent: this.agent,
      signal: AbortSignal.any([AbortSignal.timeout(SEND_TIMEOUT_MS), this.ending.signal]),
      headers: {
        ...headers,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      },
    }
    return request(url, options, (response) => {
      // What the collector writes is of no use here, nor is the way in which it ends.
      response.on('error', () => undefined).resume()
      onStatus(response.statusCode ?? 0)
    })
  }
}

/** Tells whether the same batch may be taken later. */
function isPassing({ status }: SendFailure): boolean {
  return status === null || status === TOO_MANY_REQUESTS || status >= 500
}
