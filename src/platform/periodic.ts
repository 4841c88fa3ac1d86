interface PeriodicOptions {
  /** Work of one round. What it throws is counted and goes to `onFailed`. */
  readonly round: () => Promise<unknown>
  /** Pause between the end of a round and the next one. */
  readonly everyMs: number
  /** The same after a round that failed; by default `everyMs`. */
  readonly retryMs?: number
  readonly onFailed: (error: unknown) => void
}

/** A pause is up to this share longer, so that replicas that started together come apart. */
const JITTER = 0.1

/**
 * Does work from time to time, one round at a time.
 *
 * States: *new*, where only `runOnce` works; *started*, from `start` or `wake` on; *closed*: the
 * running round learns it by `signal`, and there is no other. Its timer keeps no process alive.
 */
export class Periodic {
  private readonly options: PeriodicOptions
  private readonly ending = new AbortController()
  private timer: NodeJS.Timeout | undefined
  private running: Promise<void> | null = null
  private isStarted = false
  /** When the next round begins; during a round, when it was asked for. */
  private dueAtMs = Number.POSITIVE_INFINITY
  /** Pause after the running round. */
  private pauseMs = 0
  /** Rounds that failed since the start. */
  failures = 0

  constructor(options: PeriodicOptions) {
    this.options = options
  }

  /** Aborted by `close`. */
  get signal(): AbortSignal {
    return this.ending.signal
  }

  /** @param firstMs pause before the first round; 0: it begins before this returns */
  start(firstMs = this.options.everyMs): this {
    this.wake(firstMs)
    return this
  }

  /** Brings the next round forward. One that runs is followed by another. */
  wake(inMs = 0): void {
    if (this.signal.aborted) return
    this.isStarted = true
    const dueAtMs = performance.now() + inMs
    if (dueAtMs >= this.dueAtMs) return
    this.dueAtMs = dueAtMs
    if (this.running !== null) return
    clearTimeout(this.timer)
    if (inMs <= 0) void this.runOnce()
    else this.timer = setTimeout(() => void this.runOnce(), inMs).unref()
  }

  /** Does a round now, or waits for the one that runs. Never rejects. */
  runOnce(): Promise<void> {
    clearTimeout(this.timer)
    this.running ??= this.run().finally(() => this.end())
    return this.running
  }

  /** Waits for the running round and starts no other. */
  async close(): Promise<void> {
    this.ending.abort()
    clearTimeout(this.timer)
    await this.running
  }

  private async run(): Promise<void> {
    this.dueAtMs = Number.POSITIVE_INFINITY
    this.pauseMs = this.options.everyMs
    try {
      await this.options.round()
    } catch (error) {
      this.pauseMs = this.options.retryMs ?? this.pauseMs
      if (this.signal.aborted && isAbort(error)) return
      this.failures++
      this.options.onFailed(error)
    }
  }

  private end(): void {
    this.running = null
    if (!this.isStarted) return
    const askedMs = this.dueAtMs - performance.now()
    this.dueAtMs = Number.POSITIVE_INFINITY
    this.wake(Math.min(askedMs, this.pauseMs * (1 + JITTER * Math.random())))
  }
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError'
}
