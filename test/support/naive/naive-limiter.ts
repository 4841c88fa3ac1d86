import { WINDOW_MS } from '../../../src/rate-limit/limiter.ts'

export interface Decision {
  readonly isAdmitted: boolean
  readonly remaining: number
  readonly retryAfterMs: number
}

/** The quota as it is defined, from the list of all admissions: what the limiters are held to. */
export class NaiveLimiter {
  private readonly admittedMs = new Map<string, number[]>()

  decide(subject: string, quota: number, nowMs: number): Decision {
    const all = this.admittedMs.get(subject) ?? []
    this.admittedMs.set(subject, all)
    const inWindow = all.filter((ms) => ms > nowMs - WINDOW_MS)
    if (inWindow.length < quota) {
      all.push(nowMs)
      return { isAdmitted: true, remaining: quota - inWindow.length - 1, retryAfterMs: 0 }
    }
    // So many must leave that one less than the quota is left; the last of them says when.
    const lastToLeave = inWindow[inWindow.length - quota]
    const roomAtMs = (lastToLeave ?? nowMs) + WINDOW_MS
    return { isAdmitted: false, remaining: 0, retryAfterMs: roomAtMs - nowMs }
  }

  /** Most admissions of a subject within any 60 s. */
  worst(subject: string): number {
    const all = this.admittedMs.get(subject) ?? []
    const within = all.map((from) => all.filter((ms) => ms >= from && ms < from + WINDOW_MS).length)
    return Math.max(0, ...within)
  }
}
