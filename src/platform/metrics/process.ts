import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks'
import { EventLoopWatch } from '../event-loop.ts'
import { Histogram } from './histogram.ts'
import type { MetricRegistry } from './registry.ts'
import { addLagMetrics, addStandardMetrics } from './standard.ts'

const GC_BOUNDS_SEC = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1]

/** Adds the process's use of processor and memory. */
export function addProcessMetrics(metrics: MetricRegistry): void {
  addStandardMetrics(metrics)
  metrics.gauge('process_memory_bytes', 'Memory of the process, by what holds it.', () => {
    const { rss, heapTotal, heapUsed, external, arrayBuffers } = process.memoryUsage()
    return [
      [{ part: 'resident' }, rss],
      [{ part: 'heap_reserved' }, heapTotal],
      [{ part: 'heap_used' }, heapUsed],
      [{ part: 'external' }, external],
      [{ part: 'array_buffers' }, arrayBuffers],
    ]
  })
}

/** Adds how busy the event loop is, and the pauses for garbage. */
export function addThreadMetrics(
  metrics: MetricRegistry,
  loop: EventLoopWatch,
  pauses: GarbagePauses,
): void {
  metrics.histogram(
    'nodejs_event_loop_delay_seconds',
    'How late a timer of 20 ms fired.',
    () => loop.delays,
  )
  addLagMetrics(metrics, loop.recent)
  metrics.counter(
    'nodejs_event_loop_seconds_total',
    'Time that the event loop worked (active) or waited for work (idle).',
    () => {
      const { activeSec, idleSec } = EventLoopWatch.usage()
      return [
        [{ state: 'active' }, activeSec],
        [{ state: 'idle' }, idleSec],
      ]
    },
  )
  metrics.histogram('nodejs_gc_duration_seconds', 'Pauses of the garbage collector.', () =>
    Object.entries(pauses.byKind).map(([kind, durations]) => [{ kind }, durations]),
  )
}

/** Pauses for the collection of garbage, by kind. */
export class GarbagePauses {
  readonly byKind = {
    minor: new Histogram(GC_BOUNDS_SEC),
    major: new Histogram(GC_BOUNDS_SEC),
    incremental: new Histogram(GC_BOUNDS_SEC),
  }
  private readonly observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      // Node's types lack the details of `gc` entries.
      const { detail, duration } = entry as PerformanceEntry & { detail: { kind: number } }
      this.findHistogram(detail.kind).observe(duration / 1000)
    }
  })

  start(): void {
    this.observer.observe({ entryTypes: ['gc'] })
  }

  stop(): void {
    this.observer.disconnect()
  }

  private findHistogram(kind: number): Histogram {
    if (kind === constants.NODE_PERFORMANCE_GC_MAJOR) return this.byKind.major
    if (kind === constants.NODE_PERFORMANCE_GC_MINOR) return this.byKind.minor
    return this.byKind.incremental
  }
}
