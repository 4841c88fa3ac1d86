import { Histogram } from '../platform/metrics/histogram.ts'
import type { Labels } from '../platform/metrics/registry.ts'
import type { Load } from './route-config.ts'

const REQUEST_BOUNDS_SEC = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
/** Finer, because a score is promised within milliseconds. */
const SCORE_BOUNDS_SEC = [
  ...[0.00025, 0.0005, 0.00075, 0.001, 0.0015, 0.002, 0.003, 0.005, 0.0075, 0.01],
  ...[0.015, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
]

/** A request that was answered. */
interface Measurement {
  readonly operation: string
  /** Undefined for a request that scores nothing. */
  readonly load: Load | undefined
  readonly status: number
  readonly durationMs: number
}

/** Durations of requests by operation and status. Routes and error codes bound their number. */
export class RequestMetrics {
  readonly scores = {
    single: new Histogram(SCORE_BOUNDS_SEC),
    batch: new Histogram(SCORE_BOUNDS_SEC),
  }
  private readonly byOperation = new Map<string, Map<number, Histogram>>()

  observe({ operation, load, status, durationMs }: Measurement): void {
    const byStatus = this.byOperation.get(operation)
    const durations = byStatus?.get(status) ?? this.begin(operation, status)
    durations.observe(durationMs / 1000)
    if (load !== undefined && status === 200) this.scores[load].observe(durationMs / 1000)
  }

  get durations(): Array<readonly [Labels, Histogram]> {
    return [...this.byOperation].flatMap(([operation, byStatus]) =>
      [...byStatus].map(
        ([status, histogram]) => [{ operation, status: String(status) }, histogram] as const,
      ),
    )
  }

  private begin(operation: string, status: number): Histogram {
    const durations = new Histogram(REQUEST_BOUNDS_SEC)
    const byStatus = this.byOperation.get(operation) ?? new Map<number, Histogram>()
    this.byOperation.set(operation, byStatus.set(status, durations))
    return durations
  }
}
