import { randomBytes } from 'node:crypto'
import type { Logger } from 'pino'
import type { Clock } from '../clock.ts'
import type { MetricRegistry } from '../metrics/registry.ts'
import { formatSpanTexts } from './otlp.ts'
import { type EndedRequest, RequestSpan, type SpanEnd } from './request-span.ts'
import type { TracingSettings } from './settings.ts'
import { SpanSender } from './span-sender.ts'
import { isSampled, readCallerSpanId, readTraceId } from './traceparent.ts'

const TRACE_ID_BYTES = 16
/** Requests that become spans: each takes about 13 us, of a thread that answers scores. */
const REQUESTS_A_SECOND_MAX = 500
const SECOND_MS = 1_000

interface TracerOptions {
  readonly rootShare: TracingSettings['rootShare']
  readonly sender: Sender
  readonly clock: Clock
}

type Sender = Pick<SpanSender, 'hasRoom' | 'add' | 'counts'>

/**
 * Decides which requests become spans, and hands these to the sender when they have ended. Anyone
 * who may call can ask for spans: beyond a bound for each second they are counted and dropped,
 * before they cost anything.
 */
export class Tracer implements SpanEnd {
  private readonly rootShare: number
  private readonly sender: Sender
  private readonly clock: Clock
  private second = 0
  /** Requests of that second which became spans. */
  private ofSecond = 0

  constructor({ rootShare, sender, clock }: TracerOptions) {
    this.rootShare = rootShare
    this.sender = sender
    this.clock = clock
  }

  /**
   * Begins the span of a request: its caller decides if there is one, else chance.
   *
   * @param traceparent a valid header, or null
   * @returns null for a request that does not become a span
   */
  begin(traceparent: string | null): RequestSpan | null {
    const { clock } = this
    if (traceparent !== null) {
      if (!isSampled(traceparent)) return null
      const traceId = readTraceId(traceparent)
      const callerSpanId = readCallerSpanId(traceparent)
      return new RequestSpan({ traceId, callerSpanId, clock, onEnd: this })
    }
    if (this.rootShare === 0 || Math.random() >= this.rootShare) return null
    const traceId = randomBytes(TRACE_ID_BYTES).toString('hex')
    return new RequestSpan({ traceId, callerSpanId: null, clock, onEnd: this })
  }

  take(span: RequestSpan, request: EndedRequest): void {
    const { clock, sender } = this
    const monotonicMs = clock.monotonicMs()
    const spans = 1 + span.steps.length
    if (!this.isWithinBound(monotonicMs)) {
      sender.counts.dropped += spans
      return
    }
    if (!sender.hasRoom(spans)) return
    const epochOffsetMs = clock.epochMs() - monotonicMs
    sender.add(formatSpanTexts(span, request, epochOffsetMs))
  }

  private isWithinBound(monotonicMs: number): boolean {
    const second = Math.floor(monotonicMs / SECOND_MS)
    if (second !== this.second) {
      this.second = second
      this.ofSecond = 0
    }
    return ++this.ofSecond <= REQUESTS_A_SECOND_MAX
  }
}

interface TracingOptions {
  /** Null: no request becomes a span. */
  readonly settings: TracingSettings | null
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: MetricRegistry
}

export interface OpenTracing {
  /** Null if tracing is off: this is all that a request looks at. */
  readonly tracer: Tracer | null
  /** Sends what waits, once. */
  close(): Promise<void>
}

/** Opens the sender of spans, and adds its metric. */
export function openTracing({ settings, clock, log, metrics }: TracingOptions): OpenTracing {
  const sender = settings === null ? null : openSender(settings, log)
  metrics.counter('scoreline_trace_spans_total', 'Spans of traced requests, by outcome.', () => [
    [{ outcome: 'sent' }, sender?.counts.sent ?? 0],
    [{ outcome: 'dropped' }, sender?.counts.dropped ?? 0],
  ])
  if (settings === null || sender === null) return { tracer: null, close: async () => undefined }
  const { rootShare } = settings
  return { tracer: new Tracer({ rootShare, sender, clock }), close: () => sender.close() }
}

function openSender(settings: TracingSettings, log: Logger): SpanSender {
  return new SpanSender({
    settings,
    log: {
      failing: (failure) => log.warn(failure, 'the collector does not take spans'),
      recovered: () => log.info('the collector takes spans again'),
    },
  })
}
