import type { MetricRegistry, MetricSnapshot, MetricSource } from '../metrics/registry.ts'

/** The channel from a worker to the primary: `process`. */
interface Channel {
  send?(message: ToPrimary): unknown
  readonly connected: boolean
  on(event: 'message', listener: (message: unknown) => void): unknown
  off(event: 'message', listener: (message: unknown) => void): unknown
}

const LIFE_SIGN_EVERY_MS = 2_000
/** After this time a scrape is answered with the metrics of this worker alone. */
const COLLECT_TIMEOUT_MS = 3_000

/** Sends a worker's state and metrics to the primary, and requests the metrics of all from it. */
export class PrimaryChannel {
  private readonly channel: Channel
  private readonly waiting = new Map<number, (all: readonly ProcessMetrics[] | null) => void>()
  private requests = 0
  private timer: NodeJS.Timeout | null = null
  private listener: (message: unknown) => void = () => undefined

  constructor(channel: Channel) {
    this.channel = channel
  }

  /** Sends signs of life from now on. */
  open(): void {
    this.timer = setInterval(() => this.send({ kind: 'alive' }), LIFE_SIGN_EVERY_MS).unref()
  }

  /**
   * Sends the worker's metrics whenever the primary requests them.
   *
   * @returns requests the metrics of all processes
   */
  share(metrics: MetricRegistry): MetricSource {
    this.listener = (message) => {
      if (!isMessage(message)) return
      if (message.kind === 'get_metrics') {
        this.send({ kind: 'metrics', round: message.round, metrics: metrics.read() })
      }
      if (message.kind === 'all_metrics') this.waiting.get(message.request)?.(message.all)
    }
    this.channel.on('message', this.listener)
    return () => this.requestAll()
  }

  ready(url: string): void {
    this.send({ kind: 'ready', url })
  }

  close(): void {
    if (this.timer !== null) clearInterval(this.timer)
    this.channel.off('message', this.listener)
  }

  private requestAll(): Promise<readonly ProcessMetrics[] | null> {
    const request = this.requests++
    return new Promise((resolve) => {
      const finish = (all: readonly ProcessMetrics[] | null) => {
        clearTimeout(timer)
        this.waiting.delete(request)
        resolve(all)
      }
      const timer = setTimeout(() => finish(null), COLLECT_TIMEOUT_MS).unref()
      this.waiting.set(request, finish)
      this.send({ kind: 'get_all_metrics', request })
    })
  }

  /** Does nothing once the primary has ended; the worker ends then too. */
  private send(message: ToPrimary): void {
    if (this.channel.connected) this.channel.send?.(message)
  }
}

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
