import { setTimeout } from 'node:timers/promises'
import type { Limiter } from '../../../src/rate-limit/limiter.ts'

export interface SubjectCounts {
  asked: number
  admitted: number
  denied: number
}

/** Asks limiters for decisions at an even rate, and notes what became of them. */
export class QuotaLoad {
  readonly bySubject = new Map<string, SubjectCounts>()
  /** Longest time that a request waited for its decision. */
  worstMs = 0
  waiting = 0
  private isOn = true
  private readonly running: Promise<void>

  /** @param limiters asked in turn, as a load balancer does */
  constructor(limiters: readonly Limiter[], subjects: readonly string[], quota: number) {
    for (const subject of subjects)
      this.bySubject.set(subject, { asked: 0, admitted: 0, denied: 0 })
    this.running = this.run(limiters, quota)
  }

  get total(): SubjectCounts {
    const total = { asked: 0, admitted: 0, denied: 0 }
    for (const { asked, admitted, denied } of this.bySubject.values()) {
      total.asked += asked
      total.admitted += admitted
      total.denied += denied
    }
    return total
  }

  async stop(): Promise<void> {
    this.isOn = false
    await this.running
    while (this.waiting > 0) await setTimeout(5)
  }

  private async run(limiters: readonly Limiter[], quota: number): Promise<void> {
    for (let turn = 0; this.isOn; turn++) {
      for (const [subject, counts] of this.bySubject) {
        const limiter = limiters[(turn + counts.asked) % limiters.length]
        const askedMs = performance.now()
        counts.asked++
        this.waiting++
        limiter?.decide(subject, quota, (_remaining, retryAfterMs) => {
          this.waiting--
          if (retryAfterMs > 0) counts.denied++
          else counts.admitted++
          this.worstMs = Math.max(this.worstMs, performance.now() - askedMs)
        })
      }
      await setTimeout(8)
    }
  }
}
