interface Denial {
  readonly quota: number
  /** Until then no request is admitted, whoever asks. */
  readonly untilMs: number
  /** What clients are told to wait for: never before there is room. */
  readonly roomAtMs: number
}

/**
 * Longest time that a denial is repeated without asking. Two clocks that are slewed apart by 500 ppm, the
 * most that time services do, differ by half a millisecond after it; and a Redis that was emptied or
 * whose clock was set counts anew after it.
 */
const KEPT_MS_MAX = 1_000
const DENIALS_MAX = 10_000

/**
 * Denials that hold without asking Redis again: admissions only leave by age, so that until the moment
 * that Redis named nobody can be admitted. A client that goes on regardless of 429 costs Redis one call
 * a second. At the bound a denial is not kept, and the next request asks.
 */
export class Denials {
  private readonly bySubject = new Map<string, Denial>()

  /**
   * @param askedAtMs,toldAtMs between which Redis decided, by this process' clock
   * @param waitMs time until there is room, from the moment of the decision on
   */
  keep(
    subject: string,
    quota: number,
    { askedAtMs, toldAtMs, waitMs }: { askedAtMs: number; toldAtMs: number; waitMs: number },
  ): void {
    if (this.bySubject.size >= DENIALS_MAX) this.forgetExpired(askedAtMs)
    if (this.bySubject.size >= DENIALS_MAX) return
    const untilMs = askedAtMs + Math.min(waitMs, KEPT_MS_MAX)
    this.bySubject.set(subject, { quota, untilMs, roomAtMs: toldAtMs + waitMs })
  }

  /** Once something was admitted under another quota, what was told of room is wrong. */
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
