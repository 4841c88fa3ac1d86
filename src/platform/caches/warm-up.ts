import { AppError } from '../../errors.ts'
import type { Clock } from '../clock.ts'

/** A cache that a process fills before it takes requests. */
interface WarmedCache {
  /** Names of what is in use, the most recently used first, `namesMax` at most. */
  list(namesMax: number): Promise<string[]>
  /** Has the cache load it, or look at it again. */
  warm(name: string): unknown
  /** Tells whether nothing is in memory for it. */
  isUnknown(name: string): boolean
}

interface WarmUpOptions {
  readonly clock: Clock
  readonly caches: readonly WarmedCache[]
  /** Receives why a round ended early. */
  readonly onFailed: (error: unknown) => void
}

/** Beyond it, the least recently used are loaded when they are asked for. */
const NAMES_MAX = 10_000
/** Loads at once: half of the connections. */
const LOADS_AT_ONCE = 5
/** A process is ready after this time, warm or not; it goes on to load. */
export const READY_AFTER_MS = 10_000
/** A process with little to load is ready as soon as it listens. */
const BEFORE_LISTENING_MS = 1_000
/** Time between two looks at an entry that nobody uses, so that it outlives an outage. */
const REFRESH_EVERY_MS = 30 * 60_000
/** Pause between two looks in the background. */
const PAUSE_MS = 20
/** Loads of one name in a round. */
const TRIES_MAX = 3
/** After a round that failed. */
const RETRY_MS = 2_000

/**
 * Keeps in memory what is in use, so that a process whose database goes away scores what it has
 * never been asked for.
 *
 * States: *cold*, until the first round ends or 10 s have passed; *warm*, from then on, with a
 * round in the background each half hour. A round that fails is repeated after 2 s.
 */
export class WarmUp {
  private readonly options: WarmUpOptions
  private readonly startedAtMs: number
  private readonly first = Promise.withResolvers<void>()
  private isWarm = false
  private isClosed = false
  private loaded = 0
  private timer: NodeJS.Timeout | undefined

  constructor(options: WarmUpOptions) {
    this.options = options
    this.startedAtMs = options.clock.monotonicMs()
  }

  start(): void {
    void this.round(LOADS_AT_ONCE, 0)
  }

  /** Why the process is not ready yet, in words; null: it is. */
  get refusal(): string | null {
    if (this.isWarm) return null
    const sinceMs = this.options.clock.monotonicMs() - this.startedAtMs
    return sinceMs >= READY_AFTER_MS ? null : `loads deployments and keys: ${this.loaded} so far`
  }

  /** Resolves once the process is warm, or after `timeoutMs`. */
  async within(timeoutMs = BEFORE_LISTENING_MS): Promise<void> {
    const late = Promise.withResolvers<void>()
    const timer = setTimeout(() => late.resolve(), timeoutMs)
    await Promise.race([this.first.promise, late.promise])
    clearTimeout(timer)
  }

  async close(): Promise<void> {
    this.isClosed = true
    clearTimeout(this.timer)
    this.first.resolve()
  }

  /**
   * Loads what it can: what it can't, as a damaged card, fails the requests for it, and no other.
   */
  private async load(cache: WarmedCache, name: string): Promise<void> {
    try {
      // An announced change, or a feed of changes that begins, makes a load forget what it read.
      await cache.warm(name)
      for (let tries = 1; tries < TRIES_MAX && cache.isUnknown(name); tries++) {
        await cache.warm(name)
      }
    } catch (error) {
      if (error instanceof AppError && error.code === 'unavailable') throw error
    }
  }

  private async round(loadsAtOnce: number, pauseMs: number): Promise<void> {
    let nextMs = REFRESH_EVERY_MS
    try {
      for (const cache of this.options.caches) {
        const names = (await cache.list(NAMES_MAX)).values()
        const loadAll = async () => {
          for (const name of names) {
            if (this.isClosed) return
            await this.load(cache, name)
            this.loaded++
            if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs).unref())
          }
        }
        await Promise.all(Array.from({ length: loadsAtOnce }, loadAll))
      }
      this.isWarm = true
      this.first.resolve()
    } catch (error) {
      if (!this.isClosed) this.options.onFailed(error)
      nextMs = RETRY_MS
    }
    if (this.isClosed) return
    const isBehind = this.isWarm
    this.timer = setTimeout(
      () => void this.round(isBehind ? 1 : LOADS_AT_ONCE, isBehind ? PAUSE_MS : 0),
      nextMs,
    ).unref()
  }
}
