import { once } from 'node:events'
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks'
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import type { LoadPlan } from './load-plan.ts'

/** How requests lie in time: at equal distances, or as callers send that know nothing of others. */
export type Arrivals = 'constant' | 'poisson'

export interface OpenLoopOptions {
  readonly plan: LoadPlan
  /** Requests a second. */
  readonly rate: number
  readonly arrivals: Arrivals
}

/** What was sent in some time, and what became of it. */
export interface Sent {
  readonly sent: number
  /** On the clock of `monotonicMs`; null before the first. */
  readonly firstSentMs: number | null
  readonly lastSentMs: number | null
  /** Answers by status, refusals with their code; failures without an answer by their own. */
  readonly answers: Readonly<Record<string, number>>
  /** From when a request was due to the end of its answer, if that was 200. */
  readonly latencyUs: RecordableHistogram
  /** From when a request was due until it was sent: how late the load tester itself is. */
  readonly lateUs: RecordableHistogram
}

/** Beyond that a second thread helps: one alone can send some thousands more. */
const RATE_OF_A_THREAD = 4_000
const THREADS_MAX = 4

/**
 * Sends requests at a rate, whatever becomes of the earlier ones, from threads of its own: what
 * else the process does delays none. One thread keeps the time, since a timer of Node counts whole
 * milliseconds and may be early; the others send. A latency counts from when its request was due:
 * a service that stands still for a second is charged for each request of that second, also for
 * those that could only be sent later (coordinated omission).
 */
export class OpenLoop {
  private readonly isStopped = new Int32Array(new SharedArrayBuffer(4))
  private readonly senders: readonly Worker[]
  private readonly clock: Worker

  /** Starts it, and waits until its threads are there: their start delays no request. */
  static async start(options: OpenLoopOptions): Promise<OpenLoop> {
    const loop = new OpenLoop(options)
    await loop.look()
    loop.clock.postMessage('begin')
    await once(loop.clock, 'message')
    return loop
  }

  private constructor({ plan, rate, arrivals }: OpenLoopOptions) {
    const step = Math.min(THREADS_MAX, Math.ceil(rate / RATE_OF_A_THREAD))
    const channels = Array.from({ length: step }, () => new MessageChannel())
    this.senders = channels.map(({ port2: due }, first) =>
      startThread('./open-loop-sender.ts', { plan, first, step, due }, [due]),
    )
    const ports = channels.map(({ port1 }) => port1)
    const { isStopped } = this
    this.clock = startThread('./open-loop-clock.ts', { rate, arrivals, isStopped, ports }, ports)
  }

  /** Takes what was sent since the last call, as soon as all of it is answered. */
  take(): Promise<Sent> {
    return this.ask('take')
  }

  /** Looks at what was sent since the last `take`, and how much of it is answered. */
  look(): Promise<Sent> {
    return this.ask('look')
  }

  /** Sends nothing more, and takes the rest as soon as all of it is answered. */
  async stop(): Promise<Sent> {
    Atomics.store(this.isStopped, 0, 1)
    Atomics.notify(this.isStopped, 0)
    const rest = await this.ask('rest')
    await Promise.all([this.clock, ...this.senders].map((thread) => thread.terminate()))
    return rest
  }

  private async ask(what: 'take' | 'look' | 'rest'): Promise<Sent> {
    const asked = this.senders.map(async (sender) => {
      const { port1, port2: reply } = new MessageChannel()
      sender.postMessage({ what, reply }, [reply])
      const [sent] = await once(port1, 'message')
      port1.close()
      return sent as Sent
    })
    return addUp(await Promise.all(asked))
  }
}

function startThread(file: string, workerData: object, transferList: MessagePort[]): Worker {
  return new Worker(new URL(file, import.meta.url), { workerData, transferList })
}

function addUp(all: readonly Sent[]): Sent {
  const answers: Record<string, number> = {}
  const [latencyUs, lateUs] = [createHistogram(), createHistogram()]
  for (const one of all) {
    for (const [answer, count] of Object.entries(one.answers)) {
      answers[answer] = (answers[answer] ?? 0) + count
    }
    latencyUs.add(one.latencyUs)
    lateUs.add(one.lateUs)
  }
  const times = (moments: readonly (number | null)[]) => moments.filter((at) => at !== null)
  const first = times(all.map(({ firstSentMs }) => firstSentMs))
  const last = times(all.map(({ lastSentMs }) => lastSentMs))
  return {
    sent: all.reduce((total, { sent }) => total + sent, 0),
    firstSentMs: first.length === 0 ? null : Math.min(...first),
    lastSentMs: last.length === 0 ? null : Math.max(...last),
    answers,
    latencyUs,
    lateUs,
  }
}
