import cluster, { type Worker as ClusterWorker } from 'node:cluster'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Logger } from 'pino'
import { systemClock } from '../clock.ts'
import { addProcessMetrics } from '../metrics/process.ts'
import { MetricRegistry } from '../metrics/registry.ts'
import { FigureRounds } from './figure-rounds.ts'
import { isMessage, type ToPrimary, type ToWorker } from './messages.ts'
import { Supervisor, type Worker, type WorkerEvents } from './supervisor.ts'

export interface PrimaryOptions {
  readonly workers: number
  readonly host: string
  /** 0 picks a free one, the same for all. */
  readonly port: number
  readonly log: Logger
}

/** Workers that answer at one address, in processes of their own. */
export class Primary {
  readonly supervisor: Supervisor
  /** Where they answer, once they do. */
  url = ''
  private readonly options: PrimaryOptions
  private readonly live = new Map<number, ClusterWorker>()
  private readonly rounds: FigureRounds
  private port = 0

  constructor(options: PrimaryOptions) {
    const { log, workers } = options
    this.options = options
    // Workers take connections themselves. Those that the primary hands on are lost, neither answered nor closed,
    // when their worker dies before it has said that it has them.
    cluster.schedulingPolicy = cluster.SCHED_NONE
    this.supervisor = new Supervisor({
      workers,
      start: (place, events) => this.fork(place, events),
      clock: systemClock,
      after: (ms, callback) => {
        const timer = setTimeout(callback, ms)
        return () => clearTimeout(timer)
      },
      log: {
        replacing: (facts) => log.error(named(facts), 'a worker has ended and will be replaced'),
        silent: (facts) => log.error(named(facts), 'a worker gives no sign of life and is killed'),
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
    this.rounds = new FigureRounds(
      () => [...this.live.keys()].map((place) => this.asked(place)),
      () => metrics.read(),
    )
  }

  /** @throws WorkerStartError */
  async start(): Promise<void> {
    const { host, port } = this.options
    // Workers that are told 0 would agree on one, but those that replace them all would pick another.
    this.port = port === 0 ? await freePort(host) : port
    await this.supervisor.start()
  }

  private fork(place: number, events: WorkerEvents): Worker {
    const worker = cluster.fork({ PORT: `${this.port}` })
    this.live.set(place, worker)
    worker.on('message', (message: unknown) => {
      if (isMessage(message)) this.hear(place, message as ToPrimary, events)
    })
    // A message to a worker that has just died; its end is told by itself.
    worker.on('error', () => undefined)
    worker.once('exit', (exitCode: number | null, signal: string | null) => {
      if (this.live.get(place) === worker) this.live.delete(place)
      events.onEnd({ exitCode: signal ? null : exitCode, signal: signal || null })
    })
    return {
      pid: worker.process.pid ?? 0,
      kill: (signal) => void worker.process.kill(signal),
    }
  }

  private hear(place: number, message: ToPrimary, events: WorkerEvents): void {
    events.onAlive()
    if (message.kind === 'ready') {
      this.url = message.url
      events.onReady()
    } else if (message.kind !== 'alive') {
      this.rounds.heard(this.asked(place), message)
    }
  }

  private asked(place: number) {
    return {
      place,
      send: (message: ToWorker) => {
        const worker = this.live.get(place)
        if (worker?.isConnected() === true) worker.send(message)
      },
    }
  }
}

/** Each line of the log has the primary's own `pid`. */
function named<T extends { readonly pid: number }>({ pid, ...facts }: T) {
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
