import type { Clock } from '../clock.ts'

/** A part of a request that is measured by itself. */
type StepName = 'quota' | 'engine' | 'log'

interface Step {
  readonly name: StepName
  /** In milliseconds of the monotonic clock. */
  readonly beganAtMs: number
  /** Null if the request ended before it. */
  endedAtMs: number | null
}

/** Facts of a request when it is answered. */
export interface EndedRequest {
  readonly requestId: string
  readonly operation: string
  readonly method: string
  /** Path of the route with its parameters by name; undefined if no route matched. */
  readonly route: string | undefined
  readonly status: number
  /** In milliseconds of the monotonic clock, as the next one. */
  readonly receivedAtMs: number
  readonly endedAtMs: number
}

/** Takes spans that have ended. */
export interface SpanEnd {
  take(span: RequestSpan, request: EndedRequest): void
}

interface SpanOptions {
  readonly traceId: string
  /** Span of the caller; null if the trace begins here. */
  readonly callerSpanId: string | null
  readonly clock: Clock
  readonly onEnd: SpanEnd
}

/** A request asks the quota twice at most, and is scored once. */
const STEPS_MAX = 8

/**
 * A request that becomes a span, with a child span for each step.
 *
 * *Open* from the headers of the request to its answer, when `end` gives it away. After that
 * nothing changes it: a late step is left out.
 */
export class RequestSpan {
  readonly traceId: string
  readonly callerSpanId: string | null
  readonly steps: Step[] = []
  /** The deployment whose models scored; null before one was found. */
  deploymentId: string | null = null
  /** Code of the error in the answer; null if there is none. */
  errorCode: string | null = null
  private readonly clock: Clock
  private readonly onEnd: SpanEnd
  private isOpen = true

  constructor({ traceId, callerSpanId, clock, onEnd }: SpanOptions) {
    this.traceId = traceId
    this.callerSpanId = callerSpanId
    this.clock = clock
    this.onEnd = onEnd
  }

  beginStep(name: StepName): void {
    if (!this.isOpen || this.steps.length === STEPS_MAX) return
    this.steps.push({ name, beganAtMs: this.clock.monotonicMs(), endedAtMs: null })
  }

  /** Ends the latest step of the name. */
  endStep(name: StepName): void {
    const step = this.steps.findLast((one) => one.name === name)
    if (this.isOpen && step !== undefined) step.endedAtMs ??= this.clock.monotonicMs()
  }

  /** To be called when the request is answered; later calls do nothing. */
  end(request: EndedRequest): void {
    if (!this.isOpen) return
    this.isOpen = false
    this.onEnd.take(this, request)
  }

  /** In place of `end`, for a request of which nothing is recorded. */
  drop(): void {
    this.isOpen = false
  }
}
