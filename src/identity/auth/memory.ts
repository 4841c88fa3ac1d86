import type { Clock } from '../../platform/clock.ts'
import {
  type EndOfCheck,
  FAILURES_MAX,
  FAILURES_WINDOW_MS,
  type LoginThrottle,
  tooManyFailures,
} from './login-throttle.ts'

/**
 * Most subjects that are tracked, about 300 bytes each. No process checks passwords fast enough to
 * fill it within the window, so nothing that counts leaves it; above it the subject whose last
 * failure is oldest does.
 */
const SUBJECTS_MAX = 200_000

/** The failures of this process, each with its time: the window slides and is exact. */
export class MemoryLoginThrottle implements LoginThrottle {
  private readonly clock: Clock
  /**
   * At most `FAILURES_MAX` each, oldest first; the subjects in the order of their latest failure.
   */
  private readonly failuresAtMs = new Map<string, readonly number[]>()
  /** Checks that have begun and not ended. */
  private readonly running = new Map<string, number>()
  private nextEnd = Promise.withResolvers<void>()

  constructor(clock: Clock) {
    this.clock = clock
  }

  async refuseSpent(subjects: readonly string[]): Promise<void> {
    this.throwIfSpent(subjects)
  }

  async begin(subjects: readonly string[]): Promise<EndOfCheck> {
    for (;;) {
      // No turn lies between the question and the wait: an end in between would be missed for good.
      this.throwIfSpent(subjects)
      if (subjects.every((subject) => this.hasRoom(subject))) break
      await this.nextEnd.promise
    }
    for (const subject of subjects) this.countRunning(subject, 1)
    return async (isRight) => this.end(subjects, isRight)
  }

  private throwIfSpent(subjects: readonly string[]): void {
    const nowMs = this.clock.monotonicMs()
    const waitMs = Math.max(...subjects.map((subject) => this.waitMs(subject, nowMs)))
    if (waitMs > 0) throw tooManyFailures(waitMs)
  }

  private end(subjects: readonly string[], isRight: boolean): void {
    const nowMs = this.clock.monotonicMs()
    for (const subject of subjects) {
      this.countRunning(subject, -1)
      if (isRight) continue
      const failures = [...this.failuresWithin(subject, nowMs), nowMs]
      this.failuresAtMs.delete(subject)
      this.failuresAtMs.set(subject, failures)
    }
    this.forgetOld(nowMs)
    this.nextEnd.resolve()
    this.nextEnd = Promise.withResolvers()
  }

  private hasRoom(subject: string): boolean {
    const failures = this.failuresWithin(subject, this.clock.monotonicMs())
    return failures.length + (this.running.get(subject) ?? 0) < FAILURES_MAX
  }

  /** Until another failure of the subject is possible; 0 or less: at once. */
  private waitMs(subject: string, nowMs: number): number {
    const failures = this.failuresWithin(subject, nowMs)
    const oldestMs = failures.length < FAILURES_MAX ? undefined : failures[0]
    return oldestMs === undefined ? 0 : oldestMs + FAILURES_WINDOW_MS - nowMs
  }

  /** A failure leaves the window when it is `FAILURES_WINDOW_MS` old. */
  private failuresWithin(subject: string, nowMs: number): readonly number[] {
    const failures = this.failuresAtMs.get(subject) ?? []
    return failures.filter((atMs) => nowMs - atMs < FAILURES_WINDOW_MS)
  }

  private countRunning(subject: string, change: 1 | -1): void {
    const count = (this.running.get(subject) ?? 0) + change
    if (count === 0) this.running.delete(subject)
    else this.running.set(subject, count)
  }

  /** Removes old failures. The oldest are at the front, so that the first that counts ends it. */
  private forgetOld(nowMs: number): void {
    for (const [subject, failures] of this.failuresAtMs) {
      const latestMs = failures.at(-1) ?? Number.NEGATIVE_INFINITY
      const isOld = nowMs - latestMs >= FAILURES_WINDOW_MS
      if (!isOld && this.failuresAtMs.size <= SUBJECTS_MAX) return
      this.failuresAtMs.delete(subject)
    }
  }
}
