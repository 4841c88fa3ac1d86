import { WINDOW_MS } from './limiter.ts'

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
