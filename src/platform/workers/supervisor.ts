import type { Clock } from '../clock.ts'

/** How a worker ended: with an exit code, or by a signal. */
export interface WorkerEnd {
  readonly exitCode: number | null
  readonly signal: string | null
}

/** What a worker tells its supervisor. */
export interface WorkerEvents {
  /** It answers requests. */
  onReady(): void
  /** Its event loop turns. */
  onAlive(): void
  onEnd(end: WorkerEnd): void
}

/** A process that does the work. */
export interface Worker {
  readonly pid: number
  kill(signal: NodeJS.Signals): void
}

/** Told of what operators must know. */
export interface SupervisorLog {
  /** A worker that answered has ended, and another takes its place after the pause. */
  replacing(facts: ReplacementFacts): void
  /** A worker gave no sign of life and is killed. */
  silent(facts: { readonly place: number; readonly pid: number }): void
}

export interface ReplacementFacts extends WorkerEnd {
  readonly place: number
  readonly pid: number
  readonly pauseMs: number
}

export interface SupervisorOptions {
  readonly workers: number
  /** @param place from 1 on; a worker has that of the one that it replaces */
  readonly start: (place: number, events: WorkerEvents) => Worker
  readonly clock: Clock
  /** Calls back once after so long; what it returns prevents that. */
  readonly after: (ms: number, callback: () => void) => () => void
  readonly log: SupervisorLog
}

/** A worker ended before it answered for the first time; it has printed why. */
export class WorkerStartError extends Error {}

const PAUSE_MS_MIN = 100
const PAUSE_MS_MAX = 10_000
/** Who has run for so long did not fail for what made the one before fail. */
const STABLE_MS = 60_000
/** Far above any pause of a process that works; see `LIFE_SIGN_EVERY_MS` of `link.ts`. */
const SILENCE_MS_MAX = 30_000
const LOOK_EVERY_MS = 5_000
/** Longest time from the signal to the end of all; the workers' own deadline is shorter. */
const END_DEADLINE_MS = 9_800

interface Place {
  readonly number: number
  worker: Worker | null
  startedAtMs: number
  heardAtMs: number
  /** Whether its worker has answered. */
  isReady: boolean
  /** Ends in a row, none after `STABLE_MS`. */
  failures: number
  /** Gives up the replacement that is due. */
  cancel: () => void
}

/**
 * Keeps workers running, each in its place, and does no work itself.
 *
 * States: *starting*: the first worker alone, which migrates the database, then the others; one that ends
 * before it has answered fails the start. *Running*: a worker that ends is replaced, after a pause of 0.1 s that doubles up to 10 s
 * while workers of that place end within a minute; one that gives no sign of life for 30 s is killed. *Ending*:
 * signals are passed on and nobody is replaced; who has not ended after 9.8 s is killed. *Ended*: none is left.
 */
export class Supervisor {
  /** Workers that took the place of another so far. */
  replacements = 0
  private readonly options: SupervisorOptions
  private readonly places: Place[]
  private state: 'starting' | 'running' | 'ending' = 'starting'
  private worstCode = 0
  private failStart: (error: Error) => void = () => undefined
  private readonly ended = Promise.withResolvers<number>()
  private cancelLook: () => void = () => undefined

  constructor(options: SupervisorOptions) {
    this.options = options
    this.places = Array.from({ length: options.workers }, (_, index) => ({
      ...{ number: index + 1, worker: null, startedAtMs: 0, heardAtMs: 0, failures: 0 },
      isReady: false,
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
    const [first, ...others] = this.places.map((place) => () => this.launch(place))
    await Promise.race([first?.(), failed])
    await Promise.race([Promise.all(others.map((launch) => launch())), failed])
    if (this.state === 'starting') this.state = 'running'
    this.look()
  }

  /** Workers that run now. */
  get running(): number {
    return this.places.filter(({ worker }) => worker !== null).length
  }

  /**
   * Passes the signal on and waits for the end of all; a second call passes its signal on as well.
   *
   * @returns the worst of their exit codes; 1 for one that a signal ended
   */
  async end(signal: NodeJS.Signals): Promise<number> {
    const isFirst = this.state !== 'ending'
    this.state = 'ending'
    for (const { worker, cancel } of this.places) {
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

  private launch(place: Place): Promise<void> {
    if (this.state === 'ending') return Promise.resolve()
    const { clock, start } = this.options
    const ready = Promise.withResolvers<void>()
    place.startedAtMs = clock.monotonicMs()
    place.heardAtMs = place.startedAtMs
    place.isReady = false
    place.worker = start(place.number, {
      onReady: () => {
        place.isReady = true
        ready.resolve()
      },
      onAlive: () => {
        place.heardAtMs = clock.monotonicMs()
      },
      onEnd: (end) => this.noteEnd(place, end),
    })
    return ready.promise
  }

  private noteEnd(place: Place, end: WorkerEnd): void {
    const { clock, after, log } = this.options
    const pid = place.worker?.pid ?? 0
    place.worker = null
    if (this.state === 'ending') {
      this.worstCode = Math.max(this.worstCode, end.exitCode ?? 1)
      this.settle()
      return
    }
    if (this.state === 'starting' && !place.isReady) {
      this.worstCode = Math.max(this.worstCode, end.exitCode ?? 1, 1)
      this.failStart(new WorkerStartError(`worker ${place.number} ended before it answered`))
      return
    }
    const isStable = clock.monotonicMs() - place.startedAtMs >= STABLE_MS
    place.failures = isStable ? 1 : place.failures + 1
    const pauseMs = Math.min(PAUSE_MS_MAX, PAUSE_MS_MIN * 2 ** (place.failures - 1))
    log.replacing({ place: place.number, pid, ...end, pauseMs })
    place.cancel = after(pauseMs, () => {
      this.replacements++
      void this.launch(place)
    })
  }

  /** A worker that hangs is handed no connection, so that no probe from outside would find it. */
  private look(): void {
    if (this.state === 'ending') return
    const { clock, after, log } = this.options
    for (const { number, worker, heardAtMs } of this.places) {
      if (worker === null || clock.monotonicMs() - heardAtMs < SILENCE_MS_MAX) continue
      log.silent({ place: number, pid: worker.pid })
      worker.kill('SIGKILL')
    }
    this.cancelLook = after(LOOK_EVERY_MS, () => this.look())
  }

  private killAll(): void {
    for (const { worker } of this.places) worker?.kill('SIGKILL')
  }

  private settle(): void {
    if (this.running > 0) return
    this.cancelLook()
    this.ended.resolve(this.worstCode)
  }
}
