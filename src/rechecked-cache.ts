import { LRUCache } from 'lru-cache'
import type { Clock } from './clock.ts'

interface RecheckedCacheOptions<V> {
  /** Reads the truth. `previous` is the value held so far, for what of it can be kept. */
  readonly load: (name: string, previous: V | null) => Promise<V | null>
  readonly clock: Clock
  /** Longest time that a value is served without a re-check. */
  readonly ttlMs: number
  readonly weightMax: number
  /** Share of `weightMax` that a value takes; 1 each when absent. */
  readonly weightOf?: (value: V) => number
}

interface Entry<V> {
  readonly value: V | null
  readonly loadedAtMs: number
}

/** A name that led nowhere is asked for again after this long. */
const ABSENT_TTL_MS = 5_000
const ABSENT_NAMES_MAX = 1_000

/**
 * Keeps in memory what requests need on their way, so that a warm one reads no database.
 *
 * An entry is *fresh* for half of `ttlMs`; then *due*: it is still served, and the first request to
 * see it starts a re-check behind it, so that a busy entry never makes a request wait; after `ttlMs`
 * it is *expired*, or as soon as `expire` tells of a change, and requests wait for the re-check. So
 * nothing is served that was not true within the last `ttlMs`. At most one load of a name runs at a time, for all who wait. The least recently
 * used entries leave when the weights exceed `weightMax`; absent names have a small bound of their own,
 * so that guessing names pushes nothing out.
 */
export class RecheckedCache<V extends object> {
  private readonly options: RecheckedCacheOptions<V>
  private readonly present: LRUCache<string, Entry<V>>
  private readonly absent = new LRUCache<string, Entry<V>>({ max: ABSENT_NAMES_MAX })
  private readonly loading = new Map<string, Promise<V | null>>()

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
    if (entry === undefined) return this.load(name)
    const ttlMs =
      entry.value === null ? Math.min(ABSENT_TTL_MS, this.options.ttlMs) : this.options.ttlMs
    const ageMs = this.options.clock.monotonicMs() - entry.loadedAtMs
    if (ageMs >= ttlMs) return this.load(name)
    if (ageMs >= ttlMs / 2 && entry.value !== null) {
      // A failed re-check leaves the entry as it is; it is tried again until the entry expires.
      this.load(name).catch(() => undefined)
    }
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
    if (entry !== undefined)
      this.present.set(name, { ...entry, loadedAtMs: Number.NEGATIVE_INFINITY })
  }

  private load(name: string): Promise<V | null> {
    const running = this.loading.get(name)
    if (running !== undefined) return running
    // Taken before the question is asked: the answer is at least this old.
    const loadedAtMs = this.options.clock.monotonicMs()
    const previous = this.present.peek(name)?.value ?? null
    const loading = this.options.load(name, previous).then((value) => {
      // A load that was overtaken by `expire` may have read what was true before.
      if (this.loading.get(name) === loading) this.keep(name, { value, loadedAtMs })
      return value
    })
    this.loading.set(name, loading)
    const settle = () => {
      if (this.loading.get(name) === loading) this.loading.delete(name)
    }
    loading.then(settle, settle)
    return loading
  }

  private keep(name: string, entry: Entry<V>): void {
    if (entry.value === null) {
      this.present.delete(name)
      this.absent.set(name, entry)
    } else {
      this.absent.delete(name)
      this.present.set(name, entry)
    }
  }
}
