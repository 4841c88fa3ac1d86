import type { Clock } from '../platform/clock.ts'
import {
  ADDRESS_PREFIX,
  type Limiter,
  type LimiterCounters,
  type OnDecision,
  WINDOW_MS,
} from './limiter.ts'

interface MemoryLimiterOptions {
  readonly clock: Clock
  /** Most keys and users that are tracked at once. */
  readonly callersMax?: number
  /** Most addresses that are tracked at once. */
  readonly addressesMax?: number
}

/** About 40 MB, if each made one request within the minute. */
const CALLERS_MAX = 100_000
const ADDRESSES_MAX = 65_536

const NOT_SHARED: LimiterCounters = { isDegraded: false, degradations: 0, decidedDegraded: 0 }

/**
 * The limiter of one process: the quota where there is one process, the fallback where there are
 * more.
 */
export class MemoryLimiter implements Limiter {
  readonly counters = NOT_SHARED
  private readonly clock: Clock
  private readonly callers: SubjectTable
  private readonly addresses: SubjectTable

  constructor({
    clock,
    callersMax = CALLERS_MAX,
    addressesMax = ADDRESSES_MAX,
  }: MemoryLimiterOptions) {
    this.clock = clock
    this.callers = new SubjectTable(callersMax)
    this.addresses = new SubjectTable(addressesMax)
  }

  decide(subject: string, quota: number, onDecision: OnDecision): void {
    const nowMs = this.nowMs()
    const table = this.findTable(subject)
    const log = table.findLog(subject, nowMs)
    log.expire(nowMs)
    if (log.count < quota) {
      table.add(log, nowMs, 1)
      onDecision(quota - log.count, 0)
    } else {
      onDecision(0, log.waitMs(nowMs, quota))
    }
  }

  /** Notes requests that were admitted elsewhere, at about this moment. */
  note(subject: string, admissions: number): void {
    const nowMs = this.nowMs()
    const table = this.findTable(subject)
    const log = table.findLog(subject, nowMs)
    log.expire(nowMs)
    table.add(log, nowMs, admissions)
  }

  findRoom(subject: string, quota: number): number {
    const nowMs = this.nowMs()
    const log = this.findTable(subject).findLog(subject, nowMs)
    log.expire(nowMs)
    return Math.max(0, quota - log.count)
  }

  close(): void {
    // Nothing is open.
  }

  /** Number of subjects are tracked, for tests and metrics. */
  get subjectCount(): number {
    return this.callers.size + this.addresses.size
  }

  private nowMs(): number {
    return Math.floor(this.clock.monotonicMs())
  }

  private findTable(subject: string): SubjectTable {
    return subject.startsWith(ADDRESS_PREFIX) ? this.addresses : this.callers
  }
}

/**
 * The logs of subjects that had a request admitted within the window, in the order of the latest.
 *
 * A subject enters with its first admission and leaves once it has been *idle* for a window, when
 * nothing is forgotten with it. While the table is full of subjects that are not, those that have
 * no place in it are counted together, as one: over-strict for them, and neither forgetful nor
 * growing. Addresses have a table of their own, because one client can have very many.
 */
class SubjectTable {
  private readonly logs = new Map<string, AdmissionLog>()
  private readonly sizeMax: number
  /** Counts for all subjects that found no place. */
  private readonly overflow = new AdmissionLog('')
  private idlest: AdmissionLog | null = null
  private latest: AdmissionLog | null = null

  constructor(sizeMax: number) {
    this.sizeMax = sizeMax
  }

  get size(): number {
    return this.logs.size
  }

  /** The subject's log; a new one is kept once something is added to it. */
  findLog(subject: string, nowMs: number): AdmissionLog {
    while (this.idlest !== null && this.idlest.latestMs <= nowMs - WINDOW_MS) {
      this.logs.delete(this.idlest.subject)
      this.unlink(this.idlest)
    }
    const log = this.logs.get(subject)
    if (log !== undefined) return log
    return this.logs.size < this.sizeMax ? new AdmissionLog(subject) : this.overflow
  }

  add(log: AdmissionLog, nowMs: number, admissions: number): void {
    log.add(nowMs, admissions)
    if (log === this.overflow || log === this.latest) return
    // What is linked has a neighbour, unless it is the only one, which is then the latest.
    if (log.previous === null && log.next === null) this.logs.set(log.subject, log)
    else this.unlink(log)
    log.previous = this.latest
    if (this.latest === null) this.idlest = log
    else this.latest.next = log
    this.latest = log
  }

  private unlink(log: AdmissionLog): void {
    if (log.previous === null) this.idlest = log.next
    else log.previous.next = log.next
    if (log.next === null) this.latest = log.previous
    else log.next.previous = log.previous
    log.previous = null
    log.next = null
  }
}

const RUNS_MIN = 4

/**
 * The times at which one subject's requests were admitted: a ring of runs, each a millisecond and
 * the number of admissions in it.
 *
 * Exact, and bounded by the smaller of the quota and the window's 60,000 milliseconds, in runs of
 * 16 bytes: a saturated quota of 1,000 takes at most 16 KiB, one of 100 million at most 1 MiB.
 */
export class AdmissionLog {
  readonly subject: string
  /** Admissions in the log. */
  count = 0
  /** Millisecond of the latest admission, also after it left the log. */
  latestMs = Number.NEGATIVE_INFINITY
  /** Neighbours in the order of the latest admission, kept by `SubjectTable`. */
  previous: AdmissionLog | null = null
  next: AdmissionLog | null = null
  /** Millisecond and number of each run, in turn; a power of two long. */
  private ring = new Float64Array(2 * RUNS_MIN)
  private first = 0
  private end = 0

  constructor(subject: string) {
    this.subject = subject
  }

  /** Forgets the admissions that have left the window. Constant time for each that was made. */
  expire(nowMs: number): void {
    const { ring } = this
    const mask = ring.length - 1
    while (this.first !== this.end && (ring[this.first] ?? 0) <= nowMs - WINDOW_MS) {
      this.count -= ring[this.first + 1] ?? 0
      this.first = (this.first + 2) & mask
    }
  }

  /** Notes admissions of now, which is not before the latest. */
  add(nowMs: number, admissions: number): void {
    const mask = this.ring.length - 1
    const last = (this.end - 2) & mask
    if (this.first !== this.end && this.ring[last] === nowMs) {
      this.ring[last + 1] = (this.ring[last + 1] ?? 0) + admissions
    } else {
      this.ring[this.end] = nowMs
      this.ring[this.end + 1] = admissions
      this.end = (this.end + 2) & mask
      if (this.end === this.first) this.grow()
    }
    this.count += admissions
    this.latestMs = nowMs
  }

  /**
   * Time until fewer than `quota` are left, from `nowMs` on, up to which the log is expired.
   *
   * The oldest must leave the window; after the quota was lowered, several must.
   *
   * @returns 0 when they already are
   */
  waitMs(nowMs: number, quota: number): number {
    if (quota <= 0) return WINDOW_MS
    let mustLeave = this.count - quota + 1
    if (mustLeave <= 0) return 0
    const mask = this.ring.length - 1
    let at = this.first
    for (;;) {
      mustLeave -= this.ring[at + 1] ?? 0
      if (mustLeave <= 0) return (this.ring[at] ?? 0) + WINDOW_MS - nowMs
      at = (at + 2) & mask
    }
  }

  /** Memory that its runs take. */
  get bytes(): number {
    return this.ring.byteLength
  }

  /** Doubles the ring, which is full: its end has met its start. */
  private grow(): void {
    const { ring, first } = this
    this.ring = new Float64Array(2 * ring.length)
    this.ring.set(ring.subarray(first))
    this.ring.set(ring.subarray(0, first), ring.length - first)
    this.first = 0
    this.end = ring.length
  }
}
