import { backOffMs } from '../back-off.ts'
import type { Clock } from '../clock.ts'

/** The way a worker ended: with an exit code, or by a signal. */
interface WorkerEnd {
  readonly exitCode: number | null
  readonly signal: string | null
}

/** Receives what happens to a worker. */
export interface WorkerEvents {
  /** The worker answers requests. */
  onReady(): void
  /** The worker's event loop turns. */
  onAlive(): void
  onEnd(end: WorkerEnd): void
}

/** A process that does the work. */
export interface Worker {
  readonly pid: number
  kill(signal: NodeJS.Signals): void
}

/** Receives the events an operator should see in the log. */
interface SupervisorLog {
  /** A worker that answered has ended, and another one replaces it after the pause. */
  replacing(facts: ReplacementFacts): void
  /** A worker gave no sign of life and is killed. */
  silent(facts: { readonly worker: number; readonly pid: number }): void
}

export interface ReplacementFacts extends WorkerEnd {
  /** The worker's number. */
  readonly worker: number
  readonly pid: number
  readonly pauseMs: number
}

interface SupervisorOptions {
  readonly workers: number
  /** @param number from 1 on; a worker has the number of the one that it replaces */
  readonly start: (number: number, events: WorkerEvents) => Worker
  readonly clock: Clock
  /** Calls back once, after a time; returns a function that prevents it. */
  readonly after: (ms: number, callback: () => void) => () => void
  readonly log: SupervisorLog
}

/** A worker ended before it answered for the first time; it has printed why. */
export class WorkerStartError extends Error {}

const PAUSES = { minMs: 100, maxMs: 10_000 }
/** A worker that has run for so long did not fail for the reason of the one before it. */
const STABLE_MS = 60_000
/** Far above any pause of a process that works; see `LIFE_SIGN_EVERY_MS` in `channel.ts`. */
const SILENCE_MS_MAX = 30_000
const LOOK_EVERY_MS = 5_000
/** Longest time from the signal to the end of all workers; their own deadline is shorter. */
const END_DEADLINE_MS = 9_800

/** A worker and those that replace it. */
interface Slot {
  readonly number: number
  worker: Worker | null
  startedAtMs: number
  heardAtMs: number
  /** True if the worker has answered. */
  isReady: boolean
  /** Ends in a row, each within `STABLE_MS` of its start. */
  failures: number
  /** Prevents the replacement that is due. */
  cancel: () => void
}

/**
 * Keeps a number of workers running, and does no work itself.
 *
 * States:
 * - *Starting*: the first worker starts alone, because it migrates the database; then the others
 *   start. A worker that ends before it has answered fails the start.
 * - *Running*: a worker that ends is replaced, after a pause of 0.1 s. The pause doubles up to 10 s
 *   while the replacements end within a minute. A worker that gives no sign of life for 30 s is
 *   killed.
 * - *Ending*: signals are passed on, and no worker is replaced. A worker that has not ended after
 *   9.8 s is killed.
 * - *Ended*: no worker is left.
 */
export class Supervisor {
  /** Workers that have replaced another one so far. */
  replacements = 0
  private readonly options: SupervisorOptions
  private readonly slots: Slot[]
  private state: 'starting' | 'running' | 'ending' = 'starting'
  private worstCode = 0
  /** The signal that was passed on last. */
  private passedOn: NodeJS.Signals | null = null
  private failStart: (error: Error) => void = () => undefined
  private readonly ended = Promise.withResolvers<number>()
  private cancelLook: () => void = () => undefined

  constructor(options: SupervisorOptions) {
    this.options = options
    this.slots = Array.from({ length: options.workers }, (_, index) => ({
      number: index + 1,
      worker: null,
      startedAtMs: 0,
      heardAtMs: 0,
      isReady: false,
      failures: 0,
      cancel: () => undefined,
    }))
  }

  /**
   * Resolves once all workers answer.
   *
   * @throws WorkerStartError if one ends before that; call `end` then as well
   */
  async start(): Promise<void> {
    const failed = new Promise<never>((_resolve, reject) => {
      this.failStart = reject
    })
    const [first, ...others] = this.slots.map((slot) => () => this.launch(slot))
    await Promise.race([first?.(), failed])
    await Promise.race([Promise.all(others.map((launch) => launch())), failed])
    if (this.state === 'starting') this.state = 'running'
    this.look()
  }

  /** Workers that run now. */
  get running(): number {
    return this.slots.filter(({ worker }) => worker !== null).length
  }

  /**
   * Passes the signal on and waits for the end of all workers; a second call passes its signal on
   * too.
   *
   * @returns the highest of their exit codes, where 1 counts for a worker that a signal ended; 0 if
   *   it was this one, before the worker had a way to end by itself
   */
  async end(signal: NodeJS.Signals): Promise<number> {
    const isFirst = this.state !== 'ending'
    this.state = 'ending'
    this.passedOn = signal
    for (const { worker, cancel } of this.slots) {
      cancel()
      worker?.kill(signal)
    }
    if (isFirst) {
      this.cancelLook()
      this.cancelLook = this.options.after(END_DEADLINE_MS, () => this.killAll())
    }
    this.settle()
    return this.ended.promise
  }

  private launch(slot: Slot): Promise<void> {
    if (this.state === 'ending') return Promise.resolve()
    const { clock, start } = this.options
    const ready = Promise.withResolvers<void>()
    slot.startedAtMs = clock.monotonicMs()
    slot.heardAtMs = slot.startedAtMs
    slot.isReady = false
    slot.worker = start(slot.number, {
      onReady: () => {
        slot.isReady = true
        ready.resolve()
      },
      onAlive: () => {
        slot.heardAtMs = clock.monotonicMs()
      },
      onEnd: (end) => this.noteEnd(slot, end),
    })
    return ready.promise
  }

  private noteEnd(slot: Slot, end: WorkerEnd): void {
    const { clock, after, log } = this.options
    const pid = slot.worker?.pid ?? 0
    slot.worker = null
    if (this.state === 'ending') {
      const isExpected = !slot.isReady && end.signal === this.passedOn
      this.worstCode = Math.max(this.worstCode, end.exitCode ?? (isExpected ? 0 : 1))
      this.settle()
      return
    }
    if (this.state === 'starting' && !slot.isReady) {
      this.worstCode = Math.max(this.worstCode, end.exitCode ?? 1, 1)
      this.failStart(new WorkerStartError(`worker ${slot.number} ended before it answered`))
      return
    }
    const isStable = clock.monotonicMs() - slot.startedAtMs >= STABLE_MS
    slot.failures = isStable ? 1 : slot.failures + 1
    const pauseMs = backOffMs(PAUSES, slot.failures - 1)
    log.replacing({ worker: slot.number, pid, ...end, pauseMs })
    slot.cancel = after(pauseMs, () => {
      this.replacements++
      void this.launch(slot)
    })
  }

  /**
   * Kills workers that hang: they accept no connection, so that no probe from outside finds them.
   */
  private look(): void {
    if (this.state === 'ending') return
    const { clock, after, log } = this.options
    for (const { number, worker, heardAtMs } of this.slots) {
      if (worker === null || clock.monotonicMs() - heardAtMs < SILENCE_MS_MAX) continue
      log.silent({ worker: number, pid: worker.pid })
      worker.kill('SIGKILL')
    }
    this.cancelLook = after(LOOK_EVERY_MS, () => this.look())
  }

  private killAll(): void {
    for (const { worker } of this.slots) worker?.kill('SIGKILL')
  }

  private settle(): void {
    if (this.running > 0) return
    this.cancelLook()
    this.ended.resolve(this.worstCode)
  }
}
