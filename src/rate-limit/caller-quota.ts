import type { Caller } from '../auth/caller.ts'
import type { Decided, Limiter } from './limiter.ts'

/** The budgets of proven callers: a key has its own or the service's, a user the service's. */
export class CallerQuota {
  private readonly limiter: Limiter
  private readonly perMinute: number

  /** @param perMinute of whom no quota of his own is set */
  constructor(limiter: Limiter, perMinute: number) {
    this.limiter = limiter
    this.perMinute = perMinute
  }

  /** Admissions of the caller within 60 s. */
  of(caller: Caller): number {
    return (caller.kind === 'key' ? caller.rateLimitPerMinute : null) ?? this.perMinute
  }

  /** Counts a request of the caller; as `Limiter.decide`. */
  decide(caller: Caller, decided: Decided): void {
    const subject = caller.kind === 'key' ? caller.keyId : caller.userId
    this.limiter.decide(subject, this.of(caller), decided)
  }
}
