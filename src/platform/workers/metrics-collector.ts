import type { MetricSnapshot } from '../metrics/registry.ts'
import type { ProcessMetrics, ToPrimary, ToWorker } from './messages.ts'

/** A worker whose metrics can be requested. */
export interface CollectedWorker {
  /** From 1 on; the label `worker` of its metrics. */
  readonly number: number
  send(message: ToWorker): void
}

interface Round {
  readonly missing: Set<number>
  readonly received: ProcessMetrics[]
  readonly finish: () => void
}

/** A worker that does not reply within this time is left out of the scrape. */
const ROUND_TIMEOUT_MS = 1_000

/**
 * Gathers the metrics of all workers for the worker that answers a scrape. They are not added up: a
 * replaced worker counts from 0 again, and a sum that falls would look like a restart of all
 * workers.
 */
export class WorkerMetricsCollector {
  private readonly workers: () => readonly CollectedWorker[]
  private readonly own: () => MetricSnapshot
  private readonly rounds = new Map<number, Round>()
  private nextRound = 0

  /**
   * @param workers returns the workers that run now
   * @param own reads the metrics of this process
   */
  constructor(workers: () => readonly CollectedWorker[], own: () => MetricSnapshot) {
    this.workers = workers
    this.own = own
  }

  /** Handles a worker's message about metrics. */
  receive(from: CollectedWorker, message: ToPrimary): void {
    if (message.kind === 'get_all_metrics') {
      this.gather().then(
        (all) => from.send({ kind: 'all_metrics', request: message.request, all }),
        () => undefined,
      )
    }
    if (message.kind !== 'metrics') return
    const round = this.rounds.get(message.round)
    if (round?.missing.delete(from.number) !== true) return
    round.received.push({ worker: `${from.number}`, metrics: message.metrics })
    if (round.missing.size === 0) round.finish()
  }

  private async gather(): Promise<ProcessMetrics[]> {
    const round = this.nextRound++
    const workers = this.workers()
    const received: ProcessMetrics[] = []
    if (workers.length > 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ROUND_TIMEOUT_MS)
        const finish = () => {
          clearTimeout(timer)
          resolve()
        }
        const missing = new Set(workers.map(({ number }) => number))
        this.rounds.set(round, { missing, received, finish })
        for (const worker of workers) worker.send({ kind: 'get_metrics', round })
      })
    }
    this.rounds.delete(round)
    const inOrder = received.toSorted((a, b) => Number(a.worker) - Number(b.worker))
    return [...inOrder, { worker: 'primary', metrics: this.own() }]
  }
}
