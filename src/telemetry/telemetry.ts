import type { Logger } from 'pino'
import { Readiness } from '../http/health.ts'
import { LoadShedder } from '../http/overload/load-shedder.ts'
import { RequestMetrics } from '../http/request-observer.ts'
import type { Clock } from '../platform/clock.ts'
import { EventLoopWatch, threadClock } from '../platform/event-loop.ts'
import { addProcessMetrics, addThreadMetrics, GarbagePauses } from '../platform/metrics/process.ts'
import { MetricRegistry } from '../platform/metrics/registry.ts'
import type { TracingSettings } from '../platform/tracing/settings.ts'
import { type OpenTracing, openTracing, type Tracer } from '../platform/tracing/tracer.ts'
import { readCommit, VERSION } from '../platform/version.ts'

interface TelemetryOptions {
  /** Null: no request becomes a span. */
  readonly tracing: TracingSettings | null
  /** Commit of this build; null: that of the checkout, if there is one. */
  readonly commit: string | null
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Metrics, spans and readiness of the process, and the shedding of load under overload.
 */
export class Telemetry {
  readonly metrics = new MetricRegistry()
  readonly readiness = new Readiness()
  readonly requests = new RequestMetrics()
  readonly shedder: LoadShedder
  /** To be closed after the last request. */
  readonly spans: OpenTracing
  private readonly loop: EventLoopWatch
  private readonly pauses = new GarbagePauses()

  constructor({ tracing, commit, clock, log }: TelemetryOptions) {
    // The real time, also where a test gives the service another clock.
    this.loop = new EventLoopWatch(threadClock)
    this.shedder = new LoadShedder(this.loop)
    const build = commit ?? readCommit()
    this.metrics.gauge(
      'scoreline_build_info',
      'Always 1, with the version and the commit of this build.',
      () => [[{ version: VERSION, commit: build ?? 'unknown' }, 1]],
    )
    addProcessMetrics(this.metrics)
    addThreadMetrics(this.metrics, this.loop, this.pauses)
    this.spans = openTracing({ settings: tracing, clock, log, metrics: this.metrics })
  }

  /** Null: no request becomes a span. */
  get tracer(): Tracer | null {
    return this.spans.tracer
  }

  /**
   * Watches the event loop and the garbage collector until `stop`. Without it no request is shed.
   */
  start(): void {
    this.loop.start()
    this.pauses.start()
  }

  stop(): void {
    this.loop.stop()
    this.pauses.stop()
  }
}
