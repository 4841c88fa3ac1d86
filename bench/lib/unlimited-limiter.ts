import type { Limiter, LimiterCounters, OnDecision } from '../../src/rate-limit/limiter.ts'

/** Admits every request without counting, to measure the service without its quota. */
export class UnlimitedLimiter implements Limiter {
  readonly counters: LimiterCounters = { isDegraded: false, degradations: 0, decidedDegraded: 0 }

  decide(_subject: string, quota: number, onDecision: OnDecision): void {
    onDecision(quota, 0)
  }

  findRoom(_subject: string, quota: number): number {
    return quota
  }

  close(): void {
    // Nothing is open.
  }
}
