import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, type HeapSpaceInfo } from 'node:v8'
import { EventLoopWatch } from '../event-loop.ts'
import type { LagFigures, LagWindow } from './lag-window.ts'
import { Histogram, type Labels, type MetricRegistry } from './registry.ts'

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

/**
 * Adds what every process shows under the names that Prometheus' clients have agreed on, so that
 * dashboards and alerts for any Node program fit this one.
 *
 * @source Prometheus, Writing client libraries; the default metrics of prom-client
 */
function addStandardMetrics(metrics: MetricRegistry): void {
  addCpuMetrics(metrics)
  addMemoryMetrics(metrics)
  metrics.gauge('process_start_time_seconds', 'When the process started, since 1970.', () =>
    Math.round(Date.now() / 1000 - process.uptime()),
  )
  const [major = '', minor = '', patch = ''] = process.versions.node.split('.')
  const version = { version: process.version, major, minor, patch }
  metrics.gauge('nodejs_version_info', 'Version of Node.', () => [[version, 1]])
}

function addCpuMetrics(metrics: MetricRegistry): void {
  metrics.counter('process_cpu_user_seconds_total', 'Processor time used in user mode.', () => {
    return process.cpuUsage().user / 1e6
  })
  metrics.counter('process_cpu_system_seconds_total', 'Processor time used by the kernel.', () => {
    return process.cpuUsage().system / 1e6
  })
  metrics.counter('process_cpu_seconds_total', 'Processor time used.', () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  })
}

function addMemoryMetrics(metrics: MetricRegistry): void {
  metrics.gauge('process_resident_memory_bytes', 'Memory that the system holds in RAM.', () => {
    return process.memoryUsage.rss()
  })
  metrics.gauge('nodejs_heap_size_total_bytes', 'Heap of JavaScript that is reserved.', () => {
    return process.memoryUsage().heapTotal
  })
  metrics.gauge('nodejs_heap_size_used_bytes', 'Heap of JavaScript that is used.', () => {
    return process.memoryUsage().heapUsed
  })
  metrics.gauge(
    'nodejs_external_memory_bytes',
    'Memory outside of the heap, of its objects.',
    () => {
      return process.memoryUsage().external
    },
  )
  const bySpace = (readBytes: (space: HeapSpaceInfo) => number) => () =>
    getHeapSpaceStatistics().map((space): readonly [Labels, number] => [
      // As prom-client names them: `old`, `new_large_object`.
      { space: space.space_name.replace(/_space$/, '') },
      readBytes(space),
    ])
  metrics.gauge(
    'nodejs_heap_space_size_total_bytes',
    'Reserved part of the heap, by its space.',
    bySpace((space) => space.space_size),
  )
  metrics.gauge(
    'nodejs_heap_space_size_used_bytes',
    'Used part of the heap, by its space.',
    bySpace((space) => space.space_used_size),
  )
  metrics.gauge(
    'nodejs_heap_space_size_available_bytes',
    'Free part of the heap, by its space.',
    bySpace((space) => space.space_available_size),
  )
}

const LAGS: ReadonlyArray<readonly [name: string, what: string, of: keyof LagFigures]> = [
  ['nodejs_eventloop_lag_seconds', 'Latest lag', 'latest'],
  ['nodejs_eventloop_lag_min_seconds', 'Least lag', 'min'],
  ['nodejs_eventloop_lag_max_seconds', 'Greatest lag', 'max'],
  ['nodejs_eventloop_lag_mean_seconds', 'Mean lag', 'mean'],
  ['nodejs_eventloop_lag_stddev_seconds', 'Standard deviation of the lag', 'stddev'],
  ['nodejs_eventloop_lag_p50_seconds', 'Median lag', 'p50'],
  ['nodejs_eventloop_lag_p90_seconds', '90th percentile of the lag', 'p90'],
  ['nodejs_eventloop_lag_p99_seconds', '99th percentile of the lag', 'p99'],
]

/** Adds the lag of the event loop under the same kind of names. */
function addLagMetrics(metrics: MetricRegistry, lags: LagWindow): void {
  for (const [name, what, of] of LAGS) {
    metrics.gauge(name, `${what} of the event loop in the last 30 seconds.`, () => {
      return lags.figures()[of]
    })
  }
}
