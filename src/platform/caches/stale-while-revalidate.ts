import { LRUCache } from 'lru-cache'
import type { Clock } from './clock.ts'
import { AppError } from './errors.ts'

interface RecheckedCacheOptions<V> {
  /** Reads the truth. `previous` is the value held so far, for what of it can be kept. */
  readonly load: (name: string, previous: V | null) => Promise<V | null>
  readonly clock: Clock
  /** Longest time that a value is served without a re-check, where the truth can be read. */
  readonly ttlMs: number
  /** The same where the truth is `unavailable`; `ttlMs` when absent. */
  readonly unavailableTtlMs?: number
  readonly weightMax: number
  /** Share of `weightMax` that a value takes; 1 each when absent. */
  readonly weightOf?: (value: V) => number
}

interface Entry<V> {
  readonly value: V | null
  readonly loadedAtMs: number
  /** When a re-check last found the truth unavailable, or too slow. */
  unavailableAtMs: number
  /** Whether a change was told of that the value does not have. */
  isOutdated: boolean
}

/** What a cache was asked for so far. */
export interface CacheLookups {
  /** Answered at once, also that there is none. */
  hits: number
  /** Waited for a load: the name was not held. */
  misses: number
  /** Waited for a load: the entry was too old, or told to have changed. */
  expired: number
  /** Loads that failed, those behind a request among them. */
  failedLoads: number
}

/** A name that led nowhere is asked for again after this long. */
const ABSENT_TTL_MS = 5_000
const ABSENT_NAMES_MAX = 1_000
/** Longest time that a request waits for a re-check where it could be answered without. */
const RECHECK_WAIT_MS = 500
/** Time between two re-checks of a name while the truth is unavailable. */
const RECHECK_PAUSE_MS = 1_000

/**
 * Keeps in memory what requests need on their way, so that a warm one reads no database.
 *
 * An entry is *fresh* for half of `ttlMs`; then *due*: it is still served, and the first request to
 * see it starts a re-check behind it, so that a busy entry never makes a request wait; after `ttlMs`,
 * or once `mistrust` was called, it is *expired*: requests wait for the re-check, and where the truth
 * turns out to be unavailable it is served on, until `unavailableTtlMs` after its last check; once
 * `expire` told of a change it is *outdated* and never served again.
 *
 * At most one load of a name runs at a time, for all who wait. The least recently used entries leave
 * when the weights exceed `weightMax`; absent names have a small bound of their own, so that guessing
 * names pushes nothing out.
 */
export class RecheckedCache<V extends object> {
  readonly lookups: CacheLookups = { hits: 0, misses: 0, expired: 0, failedLoads: 0 }
  private readonly options: RecheckedCacheOptions<V>
  private readonly present: LRUCache<string, Entry<V>>
  private readonly absent = new LRUCache<string, Entry<V>>({ max: ABSENT_NAMES_MAX })
  private readonly loading = new Map<string, Promise<V | null>>()
  private mistrustedAtMs = Number.NEGATIVE_INFINITY

  constructor(options: RecheckedCacheOptions<V>) {
    this.options = options
    const { weightOf, weightMax } = options
    this.present = new LRUCache<string, Entry<V>>({
      maxSize: weightMax,
      sizeCalculation: ({ value }) =>
        value === null || weightOf === undefined ? 1 : Math.max(1, Math.ceil(weightOf(value))),
    })
  }

  /** The value, or null for an absent one: at once when it is held, else once it is loaded. */
  get(name: string): V | null | Promise<V | null> {
    const entry = this.present.get(name) ?? this.absent.get(name)
    if (entry === undefined) {
      this.lookups.misses++
      return this.load(name)
    }
    const { ttlMs, clock } = this.options
    const ageMs = clock.monotonicMs() - entry.loadedAtMs
    const isMistrusted = entry.loadedAtMs <= this.mistrustedAtMs
    const trustedMs = entry.value === null ? Math.min(ABSENT_TTL_MS, ttlMs) : ttlMs
    if (!entry.isOutdated && !isMistrusted && ageMs < trustedMs) this.lookups.hits++
    else this.lookups.expired++
    if (entry.isOutdated) return this.load(name)
    if (entry.value === null) {
      return isMistrusted || ageMs >= trustedMs ? this.load(name) : null
    }
    if (isMistrusted || ageMs >= ttlMs) return this.recheck(name, entry, entry.value, ageMs)
    // A failed re-check leaves the entry as it is; it is tried again until the entry expires.
    if (ageMs >= ttlMs / 2) this.load(name).catch(() => undefined)
    return entry.value
  }

  /**
   * Tells that the truth has changed: who asks from now on gets what is loaded from now on. The value
   * held so far is kept only as `previous` of the next load.
   */
  expire(name: string): void {
    this.loading.delete(name)
    this.absent.delete(name)
    const entry = this.present.peek(name)
    if (entry !== undefined) entry.isOutdated = true
  }

  /** Tells that the truth may have changed: everything is re-checked before it is served again. */
  mistrust(): void {
    this.loading.clear()
    this.mistrustedAtMs = this.options.clock.monotonicMs()
  }

  private recheck(name: string, entry: Entry<V>, value: V, ageMs: number): V | Promise<V | null> {
    const { ttlMs, unavailableTtlMs = ttlMs, clock } = this.options
    if (ageMs >= unavailableTtlMs) return this.load(name)
    const sinceUnavailableMs = clock.monotonicMs() - entry.unavailableAtMs
    if (sinceUnavailableMs < RECHECK_PAUSE_MS) return value
    const loading = this.load(name)
    if (entry.unavailableAtMs > entry.loadedAtMs) {
      // It was unavailable a moment ago: nobody waits to learn that it still is.
      loading.catch(() => undefined)
      return value
    }
    return orElse(loading, value, () => {
      entry.unavailableAtMs = clock.monotonicMs()
    })
  }

  private load(name: string): Promise<V | null> {
    const running = this.loading.get(name)
    if (running !== undefined) return running
    // Taken before the question is asked: the answer is at least this old.
    const loadedAtMs = this.options.clock.monotonicMs()
    const previous = this.present.peek(name)?.value ?? null
    const loading = this.options.load(name, previous).then(
      (value) => {
        // A load that was overtaken by `expire` may have read what was true before.
        if (this.loading.get(name) === loading) this.keep(name, value, loadedAtMs)
        return value
      },
      (error: unknown) => {
        this.lookups.failedLoads++
        const entry = this.present.peek(name)
        if (entry !== undefined && isUnavailable(error)) {
          entry.unavailableAtMs = this.options.clock.monotonicMs()
        }
        throw error
      },
    )
    this.loading.set(name, loading)
    const settle = () => {
      if (this.loading.get(name) === loading) this.loading.delete(name)
    }
    loading.then(settle, settle)
    return loading
  }

  private keep(name: string, value: V | null, loadedAtMs: number): void {
    const entry = {
      value,
      loadedAtMs,
      unavailableAtMs: Number.NEGATIVE_INFINITY,
      isOutdated: false,
    }
    if (value === null) {
      this.present.delete(name)
      this.absent.set(name, entry)
    } else {
      this.absent.delete(name)
      this.present.set(name, entry)
    }
  }
}

function isUnavailable(error: unknown): boolean {
  return error instanceof AppError && error.code === 'unavailable'
}

/** What is loaded, or `held` where that is unavailable or takes longer than `RECHECK_WAIT_MS`. */
function orElse<V>(loading: Promise<V | null>, held: V, onHeld: () => void): Promise<V | null> {
  return new Promise((resolve, reject) => {
    const serveHeld = () => {
      onHeld()
      resolve(held)
    }
    const timer = setTimeout(serveHeld, RECHECK_WAIT_MS)
    loading.then(
      (value) => {
        clearTimeout(timer)
        resolve(value)
      },
      (error: unknown) => {
        clearTimeout(timer)
        if (isUnavailable(error)) serveHeld()
        else reject(error)
      },
    )
  })
}
