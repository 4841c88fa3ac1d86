import cluster, { type Worker as ClusterWorker } from 'node:cluster'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Logger } from 'pino'
import { systemClock } from '../clock.ts'
import { addProcessMetrics } from '../metrics/process.ts'
import { MetricRegistry, type MetricSnapshot } from '../metrics/registry.ts'
import { isMessage, type ProcessMetrics, type ToPrimary, type ToWorker } from './channel.ts'
import { Supervisor, type Worker, type WorkerEvents } from './supervisor.ts'

interface PrimaryOptions {
  readonly workers: number
  readonly host: string
  /** 0 picks a free port, the same for all workers. */
  readonly port: number
  readonly log: Logger
}

/** Runs workers, processes that answer at one address. */
export class Primary {
  readonly supervisor: Supervisor
  /** Address at which the workers answer; empty until they do. */
  url = ''
  private readonly options: PrimaryOptions
  private readonly live = new Map<number, ClusterWorker>()
  private readonly collector: WorkerMetricsCollector
  private port = 0

  constructor(options: PrimaryOptions) {
    const { log, workers } = options
    this.options = options
    // Workers accept connections themselves. If the primary handed connections on, those that a
    // worker has not confirmed when it dies would be lost, neither answered nor closed.
    cluster.schedulingPolicy = cluster.SCHED_NONE
    this.supervisor = new Supervisor({
      workers,
      start: (number, events) => this.fork(number, events),
      clock: systemClock,
      after: (ms, callback) => {
        const timer = setTimeout(callback, ms)
        return () => clearTimeout(timer)
      },
      log: {
        replacing: (facts) =>
          log.error(loggedFacts(facts), 'a worker has ended and will be replaced'),
        silent: (facts) =>
          log.error(loggedFacts(facts), 'a worker gives no sign of life and is killed'),
      },
    })
    const metrics = new MetricRegistry()
    addProcessMetrics(metrics)
    metrics.gauge('scoreline_workers', 'Workers that run.', () => this.supervisor.running)
    metrics.counter(
      'scoreline_worker_replacements_total',
      'Workers that took the place of one that had ended.',
      () => this.supervisor.replacements,
    )
    this.collector = new WorkerMetricsCollector(
      () => [...this.live.keys()].map((number) => this.collected(number)),
      () => metrics.read(),
    )
  }

  /** @throws WorkerStartError */
  async start(): Promise<void> {
    const { host, port } = this.options
    // Workers that are given port 0 agree on a port; if all are replaced, the new ones pick
    // another.
    this.port = port === 0 ? await freePort(host) : port
    await this.supervisor.start()
  }

  private fork(number: number, events: WorkerEvents): Worker {
    const worker = cluster.fork({ PORT: `${this.port}` })
    this.live.set(number, worker)
    worker.on('message', (message: unknown) => {
      if (isMessage(message)) this.receive(number, message as ToPrimary, events)
    })
    // A message could not be sent because the worker has just died; `exit` reports that.
    worker.on('error', () => undefined)
    worker.once('exit', (exitCode: number | null, signal: string | null) => {
      if (this.live.get(number) === worker) this.live.delete(number)
      events.onEnd({ exitCode: signal ? null : exitCode, signal: signal || null })
    })
    return {
      pid: worker.process.pid ?? 0,
      kill: (signal) => void worker.process.kill(signal),
    }
  }

  private receive(number: number, message: ToPrimary, events: WorkerEvents): void {
    events.onAlive()
    if (message.kind === 'ready') {
      this.url = message.url
      events.onReady()
    } else if (message.kind !== 'alive') {
      this.collector.receive(this.collected(number), message)
    }
  }

  private collected(number: number): CollectedWorker {
    return {
      number,
      send: (message: ToWorker) => {
        const worker = this.live.get(number)
        if (worker?.isConnected() === true) worker.send(message)
      },
    }
  }
}

/** Renames `pid`, because each line of the log has the primary's own under that name. */
function loggedFacts<T extends { readonly pid: number }>({ pid, ...facts }: T) {
  return { ...facts, workerPid: pid }
}

async function freePort(host: string): Promise<number> {
  const server = createServer().listen(0, host)
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no port is free')
  return address.port
}

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
