import type { Logger } from 'pino'
import type { Clock } from '../clock.ts'
import type { MetricRegistry } from '../metrics/registry.ts'
import type { TracingSettings } from './settings.ts'
import { SpanSender } from './span-sender.ts'
import { Tracer } from './tracer.ts'

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
