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
