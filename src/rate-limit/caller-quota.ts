import type { Caller } from '../http/access/caller.ts'
import type { Limiter, OnDecision } from './limiter.ts'

/** A limiter's decision on one request, see `OnDecision`. */
export interface QuotaDecision {
  readonly remaining: number
  readonly retryAfterMs: number
}

/** The headers by which clients pace themselves. */
export function quotaHeaders(quota: number, remaining: number) {
  return { 'x-ratelimit-limit': quota, 'x-ratelimit-remaining': remaining } as const
}

/** The budgets of proven callers: a key has its own or the default, a user has the default. */
export class CallerQuota {
  private readonly limiter: Limiter
  private readonly perMinute: number

  /** @param perMinute quota of a caller that has none of its own */
  constructor(limiter: Limiter, perMinute: number) {
    this.limiter = limiter
    this.perMinute = perMinute
  }

  /** Returns the caller's quota: admissions within 60 s. */
  findQuota(caller: Caller): number {
    return (caller.kind === 'key' ? caller.rateLimitPerMinute : null) ?? this.perMinute
  }

  /** Counts a request of the caller; as `Limiter.decide`. */
  decide(caller: Caller, onDecision: OnDecision): void {
    const subject = caller.kind === 'key' ? caller.keyId : caller.userId
    this.limiter.decide(subject, this.findQuota(caller), onDecision)
  }
}
