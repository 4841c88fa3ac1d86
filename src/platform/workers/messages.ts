import type { MetricSnapshot } from '../metrics/registry.ts'

/** Metrics of one process: of a worker by its number, or of the primary. */
export interface ProcessMetrics {
  readonly worker: string
  readonly metrics: MetricSnapshot
}

/** Messages from a worker to the primary. */
export type ToPrimary =
  | { readonly kind: 'ready'; readonly url: string }
  | { readonly kind: 'alive' }
  /** Requests the metrics of all processes, to answer a scrape. */
  | { readonly kind: 'get_all_metrics'; readonly request: number }
  | { readonly kind: 'metrics'; readonly round: number; readonly metrics: MetricSnapshot }

/** Messages from the primary to a worker. */
export type ToWorker =
  | { readonly kind: 'get_metrics'; readonly round: number }
  | {
      readonly kind: 'all_metrics'
      readonly request: number
      readonly all: readonly ProcessMetrics[]
    }

const KINDS = new Set<unknown>([
  'ready',
  'alive',
  'get_all_metrics',
  'metrics',
  'get_metrics',
  'all_metrics',
] satisfies (ToPrimary | ToWorker)['kind'][])

/**
 * Tells whether a message between the processes is one of these: Node sends its own over the same
 * channel.
 */
export function isMessage(message: unknown): message is ToPrimary | ToWorker {
  return typeof message === 'object' && message !== null && KINDS.has(Reflect.get(message, 'kind'))
}
