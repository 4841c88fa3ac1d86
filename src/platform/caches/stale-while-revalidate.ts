import { LRUCache } from 'lru-cache'
import { AppError } from '../../errors.ts'
import type { Clock } from '../clock.ts'

interface StaleWhileRevalidateOptions<V> {
  /** Reads the truth. `previous` is the value held so far, so that parts of it can be reused. */
  readonly load: (name: string, previous: V | null) => Promise<V | null>
  readonly clock: Clock
  /** Longest time that a value is served without a re-check while the truth can be read. */
  readonly ttlMs: number
  /** The same while the truth is `unavailable`; `ttlMs` when absent. */
  readonly unavailableTtlMs?: number
  readonly weightMax: number
  /** Share of `weightMax` that a value takes; 1 each when absent. */
  readonly computeWeight?: (value: V) => number
  /** Whose values leave when they take more than a share of the cache; absent: nobody's. */
  readonly shares?: { readonly findOwner: (value: V) => string; readonly weightMax: number }
}

interface Entry<V> {
  readonly value: V | null
  readonly weight: number
  readonly loadedAtMs: number
  /** When a re-check last found the truth unavailable, or too slow. */
  unavailableAtMs: number
  /** True if a change newer than the value has been announced. */
  isOutdated: boolean
}

export interface CacheLookups {
  /** Served from memory, including cached absence. */
  hits: number
  /** Waited for a load: the name was not in memory. */
  misses: number
  /** The entry was too old, or had been invalidated. */
  expired: number
  /** Loads that failed, including those in the background. */
  failedLoads: number
}

/** Longest time that an absent name is taken for absent. */
const ABSENT_TTL_MS = 5_000
const ABSENT_NAMES_MAX = 1_000
/** Longest time that a request waits for a re-check while an old value could be served. */
const RECHECK_WAIT_MS = 500
/** Time between two re-checks of a name while the truth is unavailable. */
const RECHECK_PAUSE_MS = 1_000

/**
 * Keeps in memory what requests need, so that a warm request reads no database.
 *
 * An entry has four states:
 * - *Fresh*, for half of `ttlMs`: it is served.
 * - *Due*, then: it is served, and the first request that finds it due starts a re-check in the
 *   background. A busy entry therefore never makes a request wait.
 * - *Expired*, after `ttlMs` or after `invalidateAll`: requests wait for the re-check. If the truth
 *   is unavailable, the value is still served, until `unavailableTtlMs` after its last check.
 * - *Outdated*, after `invalidate` with its name: it is never served again.
 *
 * At most one load of a name runs at a time, and all requests wait for the same one. The least
 * recently used entries leave when the weights exceed `weightMax`; an owner's own leave when they
 * exceed the owner's share, so that no owner pushes all others out. Absent names have a small bound
 * of their own, so that guessed names push no entry out.
 */
export class StaleWhileRevalidateCache<V extends object> {
  readonly lookups: CacheLookups = { hits: 0, misses: 0, expired: 0, failedLoads: 0 }
  private readonly options: StaleWhileRevalidateOptions<V>
  private readonly present: LRUCache<string, Entry<V>>
  /** Weights of the values of each owner. */
  private readonly weights = new Map<string, number>()
  private readonly absent = new LRUCache<string, Entry<V>>({ max: ABSENT_NAMES_MAX })
  private readonly loading = new Map<string, Promise<V | null>>()
  private allInvalidatedAtMs = Number.NEGATIVE_INFINITY

  constructor(options: StaleWhileRevalidateOptions<V>) {
    this.options = options
    this.present = new LRUCache<string, Entry<V>>({
      maxSize: options.weightMax,
      sizeCalculation: ({ weight }) => weight,
      onInsert: (entry) => this.addWeight(entry, entry.weight),
      dispose: (entry) => this.addWeight(entry, -entry.weight),
    })
  }

  /**
   * Returns the value, or null for an absent one: at once from memory, or a promise of the load.
   */
  get(name: string): V | null | Promise<V | null> {
    const entry = this.present.get(name) ?? this.absent.get(name)
    if (entry === undefined) {
      this.lookups.misses++
      return this.load(name)
    }
    const { ttlMs, clock } = this.options
    const ageMs = clock.monotonicMs() - entry.loadedAtMs
    const isDoubtful = entry.loadedAtMs <= this.allInvalidatedAtMs
    const trustedMs = entry.value === null ? Math.min(ABSENT_TTL_MS, ttlMs) : ttlMs
    if (!entry.isOutdated && !isDoubtful && ageMs < trustedMs) this.lookups.hits++
    else this.lookups.expired++
    if (entry.isOutdated) return this.load(name)
    if (entry.value === null) {
      return isDoubtful || ageMs >= trustedMs ? this.load(name) : null
    }
    if (isDoubtful || ageMs >= ttlMs) return this.recheck(name, entry, entry.value, ageMs)
    // A failed re-check leaves the entry as it is; further requests try again until it expires.
    if (ageMs >= ttlMs / 2) this.load(name).catch(() => undefined)
    return entry.value
  }

  /**
   * The value that `get` would return at once, if it is not old enough to be loaded again; else
   * null. It loads and counts nothing.
   */
  peek(name: string): V | null {
    const entry = this.present.peek(name)
    if (entry === undefined || entry.isOutdated) return null
    if (entry.loadedAtMs <= this.allInvalidatedAtMs) return null
    const ageMs = this.options.clock.monotonicMs() - entry.loadedAtMs
    return ageMs < this.options.ttlMs / 2 ? entry.value : null
  }

  /**
   * Tells whether `get` would wait for a load because no value is in memory, not even an old one.
   */
  isUnknown(name: string): boolean {
    if (this.present.peek(name) !== undefined) return false
    const absent = this.absent.peek(name)
    if (absent === undefined || absent.loadedAtMs <= this.allInvalidatedAtMs) return true
    const ageMs = this.options.clock.monotonicMs() - absent.loadedAtMs
    return ageMs >= Math.min(ABSENT_TTL_MS, this.options.ttlMs)
  }

  /**
   * Notes that the truth has changed: from now on `get` answers from a load that starts after this
   * call. The value held so far is kept only as `previous` of that load.
   */
  invalidate(name: string): void {
    this.loading.delete(name)
    this.absent.delete(name)
    const entry = this.present.peek(name)
    if (entry !== undefined) entry.isOutdated = true
  }

  /** Notes that the truth may have changed: each entry is re-checked before it is served again. */
  invalidateAll(): void {
    this.loading.clear()
    this.allInvalidatedAtMs = this.options.clock.monotonicMs()
  }

  private recheck(name: string, entry: Entry<V>, value: V, ageMs: number): V | Promise<V | null> {
    const { ttlMs, unavailableTtlMs = ttlMs, clock } = this.options
    if (ageMs >= unavailableTtlMs) return this.load(name)
    const sinceUnavailableMs = clock.monotonicMs() - entry.unavailableAtMs
    if (sinceUnavailableMs < RECHECK_PAUSE_MS) return value
    const loading = this.load(name)
    if (entry.unavailableAtMs > entry.loadedAtMs) {
      // It was unavailable a moment ago, so that no request waits for it again.
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
    // Taken before the load starts: the value may be this old already.
    const loadedAtMs = this.options.clock.monotonicMs()
    const previous = this.present.peek(name)?.value ?? null
    const loading = this.options.load(name, previous).then(
      (value) => {
        // A load that an invalidation overtook may have read the old truth.
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
    const { computeWeight, shares } = this.options
    const entry = {
      value,
      weight: value === null ? 1 : Math.max(1, Math.ceil(computeWeight?.(value) ?? 1)),
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
      if (shares !== undefined) this.keepToShare(shares.findOwner(value), shares)
    }
  }

  private addWeight({ value }: Entry<V>, weight: number): void {
    const { shares } = this.options
    if (shares === undefined || value === null) return
    const owner = shares.findOwner(value)
    const sum = (this.weights.get(owner) ?? 0) + weight
    if (sum > 0) this.weights.set(owner, sum)
    else this.weights.delete(owner)
  }

  /** Drops what an owner used least recently, but for the last value. */
  private keepToShare(
    owner: string,
    { findOwner, weightMax }: NonNullable<StaleWhileRevalidateOptions<V>['shares']>,
  ): void {
    const isOver = () => (this.weights.get(owner) ?? 0) > weightMax
    if (!isOver()) return
    const own = [...this.present.rkeys()].filter((name) => {
      const value = this.present.peek(name)?.value ?? null
      return value !== null && findOwner(value) === owner
    })
    for (const name of own.slice(0, -1)) {
      if (!isOver()) return
      this.present.delete(name)
    }
  }
}

function isUnavailable(error: unknown): boolean {
  return error instanceof AppError && error.code === 'unavailable'
}

/**
 * Returns what is loaded, or `held` if that is unavailable or takes longer than `RECHECK_WAIT_MS`.
 */
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
