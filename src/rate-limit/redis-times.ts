import type { Clock } from '../platform/clock.ts'

interface OverdueTimerOptions {
  readonly clock: Clock
  /** When the reply to the oldest call is due; null while no call waits. */
  readonly dueAtMs: () => number | null
  /** The reply to the oldest call is overdue. */
  readonly onOverdue: () => void
}

/** Watches whether the oldest call gets its reply in time. */
export class OverdueTimer {
  private readonly options: OverdueTimerOptions
  private timer: NodeJS.Timeout | undefined

  constructor(options: OverdueTimerOptions) {
    this.options = options
  }

  /** Starts to watch, unless it watches already or no call waits. */
  watch(): void {
    const { clock, dueAtMs } = this.options
    const dueMs = dueAtMs()
    if (this.timer !== undefined || dueMs === null) return
    const restMs = Math.max(1, dueMs - clock.monotonicMs())
    // If this process stood still, the reply may be ready: the event loop reads it before the
    // check. A call that becomes due after this moment has no such turn behind it.
    this.timer = setTimeout(() => {
      const lookedAtMs = clock.monotonicMs()
      setImmediate(() => this.check(lookedAtMs))
    }, restMs)
    this.timer.unref()
  }

  /** Starts to watch anew, because the oldest call may be due earlier than before. */
  watchAnew(): void {
    this.stop()
    this.watch()
  }

  stop(): void {
    clearTimeout(this.timer)
    this.timer = undefined
  }

  /** @param lookedAtMs what had arrived by then was read */
  private check(lookedAtMs: number): void {
    const { dueAtMs, onOverdue } = this.options
    this.timer = undefined
    const dueMs = dueAtMs()
    if (dueMs !== null && lookedAtMs >= dueMs) onOverdue()
    this.watch()
  }
}

/** Estimates the clock of Redis by the replies to calls. */
export class RedisClock {
  /** The clock of Redis less that of this process, within the time that the fastest call took. */
  private aheadMs = 0

  /**
   * The time of Redis when the clock of this process shows `nowMs`; it may be behind, never ahead.
   */
  timeAt(nowMs: number): number {
    return Math.floor(nowMs + this.aheadMs)
  }

  /**
   * Learns from a reply. Redis read its clock, in whole milliseconds, between the call and its
   * reply. The known difference stays if it lies within these bounds, so that slow replies do no
   * harm and fast replies improve it.
   *
   * @param redisMs time of Redis in the reply
   * @param isNew whether nothing is known yet of the clock of this Redis
   */
  learn(
    redisMs: number,
    { sentAtMs, repliedAtMs, isNew }: { sentAtMs: number; repliedAtMs: number; isNew: boolean },
  ): void {
    const most = redisMs + 1 - sentAtMs
    const least = redisMs - repliedAtMs
    this.aheadMs = Math.min(most, Math.max(least, isNew ? most : this.aheadMs))
  }
}

interface Denial {
  readonly quota: number
  /** Until then no request of the subject is admitted. */
  readonly untilMs: number
  /** The moment until which clients should wait: never before there is room. */
  readonly roomAtMs: number
}

/**
 * Longest time that a denial is repeated without asking. Within it, two clocks that time services
 * slew apart by 500 ppm, their most, come to differ by half a millisecond. A Redis that was emptied,
 * or whose clock was set, is asked again after it.
 */
const KEPT_MS_MAX = 1_000
const DENIALS_MAX = 10_000

/**
 * Denials that hold without asking Redis again. Admissions leave only by age, so no request of the
 * subject can be admitted before the moment that Redis named. A client that ignores 429 costs Redis
 * one call a second. At the bound a denial is not kept, and the next request asks.
 */
export class Denials {
  private readonly bySubject = new Map<string, Denial>()

  /**
   * @param askedAtMs,decidedAtMs the clock of this process before and after the decision of Redis
   * @param waitMs time until there is room, from the moment of the decision on
   */
  keep(
    subject: string,
    quota: number,
    { askedAtMs, decidedAtMs, waitMs }: { askedAtMs: number; decidedAtMs: number; waitMs: number },
  ): void {
    if (this.bySubject.size >= DENIALS_MAX) this.forgetExpired(askedAtMs)
    if (this.bySubject.size >= DENIALS_MAX) return
    const untilMs = askedAtMs + Math.min(waitMs, KEPT_MS_MAX)
    this.bySubject.set(subject, { quota, untilMs, roomAtMs: decidedAtMs + waitMs })
  }

  /** Drops a denial because a request was admitted: it was made under another quota. */
  forget(subject: string): void {
    if (this.bySubject.size > 0) this.bySubject.delete(subject)
  }

  has(subject: string): boolean {
    return this.bySubject.size > 0 && this.bySubject.has(subject)
  }

  /** @returns time until there is room, rounded up; 0 when Redis must be asked */
  waitMs(subject: string, quota: number, nowMs: number): number {
    const denial = this.bySubject.get(subject)
    if (denial === undefined) return 0
    if (nowMs >= denial.untilMs) {
      this.bySubject.delete(subject)
      return 0
    }
    // With another quota there is room at another time.
    return quota === denial.quota ? Math.ceil(denial.roomAtMs - nowMs) : 0
  }

  private forgetExpired(nowMs: number): void {
    for (const [subject, { untilMs }] of this.bySubject) {
      if (nowMs >= untilMs) this.bySubject.delete(subject)
    }
  }
}
