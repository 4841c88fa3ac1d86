import { getHeapSpaceStatistics, type HeapSpaceInfo } from 'node:v8'
import type { LagFigures, LagWindow } from './lag-window.ts'
import type { Labels, MetricRegistry } from './registry.ts'

/**
 * Adds what every process shows under the names that Prometheus' clients have agreed on, so that
 * dashboards and alerts for any Node program fit this one.
 *
 * @source Prometheus, Writing client libraries; the default metrics of prom-client
 */
export function addStandardMetrics(metrics: MetricRegistry): void {
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
export function addLagMetrics(metrics: MetricRegistry, lags: LagWindow): void {
  for (const [name, what, of] of LAGS) {
    metrics.gauge(name, `${what} of the event loop in the last 30 seconds.`, () => {
      return lags.figures()[of]
    })
  }
}
