import { Histogram } from '../histogram.ts'
import type { Labels } from './registry.ts'

const REQUEST_BOUNDS_SEC = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
/** Finer, because a score is promised within milliseconds. */
const SCORE_BOUNDS_SEC = [
  ...[0.00025, 0.0005, 0.00075, 0.001, 0.0015, 0.002, 0.003, 0.005, 0.0075, 0.01],
  ...[0.015, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
]

const KIND_BY_OPERATION: Readonly<Record<string, 'single' | 'batch'>> = {
  'scoring.score': 'single',
  'scoring.score_scorecard': 'single',
  'scoring.score_batch': 'batch',
  'scoring.score_scorecard_batch': 'batch',
}

/** How long requests took, by operation and status: as many as there are routes and error codes. */
export class RequestFigures {
  /** Successful scores: from the request's headers to the answer handed to the system. */
  readonly scores = {
    single: new Histogram(SCORE_BOUNDS_SEC),
    batch: new Histogram(SCORE_BOUNDS_SEC),
  }
  private readonly byOperation = new Map<string, Map<number, Histogram>>()

  observe(operation: string, status: number, durationMs: number): void {
    const byStatus = this.byOperation.get(operation)
    const durations = byStatus?.get(status) ?? this.begin(operation, status)
    durations.observe(durationMs / 1000)
    const kind = KIND_BY_OPERATION[operation]
    if (kind !== undefined && status === 200) this.scores[kind].observe(durationMs / 1000)
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
