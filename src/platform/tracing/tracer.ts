import { randomBytes } from 'node:crypto'
import type { Clock } from '../clock.ts'
import { spanTextsOf } from './otlp.ts'
import { type EndedRequest, RequestSpan, type SpanEnd } from './request-span.ts'
import type { TracingSettings } from './settings.ts'
import type { SpanSender } from './span-sender.ts'
import { callerSpanIdOf, isSampled, traceIdOf } from './traceparent.ts'

const TRACE_ID_BYTES = 16

/**
 * Requests of a second that become spans because their callers sampled them: 13 µs each, so less
 * than a hundredth of the processor.
 */
export const CALLER_SAMPLED_MAX = 500
const SECOND_MS = 1_000

type Sender = Pick<SpanSender, 'add' | 'hasRoom' | 'drop'>

interface TracerOptions {
  readonly rootShare: TracingSettings['rootShare']
  readonly sender: Sender
  readonly clock: Clock
}

/** Decides which requests become spans, and hands these to the sender when they have ended. */
export class Tracer implements SpanEnd {
  private readonly rootShare: number
  private readonly sender: Sender
  private readonly clock: Clock
  private secondEndsAtMs = 0
  /** Requests of the second that callers sampled. */
  private callerSampled = 0

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
      const traceId = traceIdOf(traceparent)
      const callerSpanId = callerSpanIdOf(traceparent)
      return new RequestSpan({ traceId, callerSpanId, clock, onEnd: this })
    }
    if (this.rootShare === 0 || Math.random() >= this.rootShare) return null
    const traceId = randomBytes(TRACE_ID_BYTES).toString('hex')
    return new RequestSpan({ traceId, callerSpanId: null, clock, onEnd: this })
  }

  /** Makes no texts for spans that would be dropped. */
  take(span: RequestSpan, request: EndedRequest): void {
    const spans = 1 + span.steps.length
    const isOneTooMany = span.callerSpanId !== null && !this.admitsCallerSampled()
    if (isOneTooMany || !this.sender.hasRoom(spans)) {
      this.sender.drop(spans)
      return
    }
    const epochOffsetMs = this.clock.epochMs() - this.clock.monotonicMs()
    this.sender.add(spanTextsOf(span, request, epochOffsetMs))
  }

  private admitsCallerSampled(): boolean {
    const nowMs = this.clock.monotonicMs()
    if (nowMs >= this.secondEndsAtMs) {
      this.secondEndsAtMs = nowMs + SECOND_MS
      this.callerSampled = 0
    }
    this.callerSampled++
    return this.callerSampled <= CALLER_SAMPLED_MAX
  }
}
