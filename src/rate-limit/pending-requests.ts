import type { Redirect } from '../platform/redis-cluster/replies.ts'
import type { OnDecision } from './limiter.ts'
import type { QuotaRequest } from './redis-admission-log.ts'

/** Stands in an answer for the number of admitted requests that another node must decide. */
export const ELSEWHERE = -1

/**
 * Requests of one subject that wait for one decision.
 *
 * Each request is decided once. If its callback throws, the others are decided all the same.
 */
export class PendingRequests implements QuotaRequest {
  readonly subject: string
  readonly quota: number
  /** True if the local limiter has admitted them already. */
  readonly isNoted: boolean
  redirect: Redirect | null = null
  /** Number of times that they were sent to another node. */
  redirects = 0
  /** When they are decided in any case, by the monotonic clock; null until they are redirected. */
  decideByMs: number | null = null
  private waiting: OnDecision[] = []
  private readonly onThrown: (error: unknown) => void

  constructor(
    { subject, quota, isNoted }: { subject: string; quota: number; isNoted: boolean },
    onThrown: (error: unknown) => void,
  ) {
    this.subject = subject
    this.quota = quota
    this.isNoted = isNoted
    this.onThrown = onThrown
  }

  get requests(): number {
    return this.waiting.length
  }

  add(onDecision: OnDecision): void {
    this.waiting.push(onDecision)
  }

  /** Returns those that wait; nobody waits after that, so that a late answer decides nothing. */
  private taken(): OnDecision[] {
    const { waiting } = this
    this.waiting = []
    return waiting
  }

  /**
   * Answers as if the requests had come one after the other: the first `admitted` are admitted.
   *
   * @param count admissions in the window, these included
   * @param waitMs time until there is room, for those that are denied
   */
  settle(admitted: number, count: number, waitMs: number): void {
    let remaining = this.quota - count + admitted
    for (const [index, onDecision] of this.taken().entries()) {
      const isAdmitted = index < admitted
      if (isAdmitted) remaining--
      try {
        onDecision(isAdmitted ? remaining : 0, isAdmitted ? 0 : waitMs)
      } catch (error) {
        this.onThrown(error)
      }
    }
  }

  /** @param decide decides one request */
  settleEach(decide: (onDecision: OnDecision) => void): void {
    for (const onDecision of this.taken()) {
      try {
        decide(onDecision)
      } catch (error) {
        this.onThrown(error)
      }
    }
  }
}

/** Requests that gather for the next call to Redis, those of one subject together. */
export class QuotaBatch {
  private groups: PendingRequests[] = []
  private groupBySubject = new Map<string, PendingRequests>()
  private size = 0
  private readonly onThrown: (error: unknown) => void

  /** @param onThrown receives what the callback of a request throws */
  constructor(onThrown: (error: unknown) => void) {
    this.onThrown = onThrown
  }

  get isEmpty(): boolean {
    return this.groups.length === 0
  }

  get requests(): number {
    return this.size
  }

  /** @param isNoted whether the local limiter has admitted the request already */
  add(
    { subject, quota, isNoted }: { subject: string; quota: number; isNoted: boolean },
    onDecision: OnDecision,
  ): void {
    let group = this.groupBySubject.get(subject)
    // A quota may change, and the guard may end, while requests gather.
    if (group === undefined || group.quota !== quota || group.isNoted !== isNoted) {
      group = new PendingRequests({ subject, quota, isNoted }, this.onThrown)
      this.groups.push(group)
      this.groupBySubject.set(subject, group)
    }
    group.add(onDecision)
    this.size++
  }

  /** Returns all requests by subject, and starts anew. */
  take(): PendingRequests[] {
    const { groups } = this
    this.groups = []
    this.size = 0
    // Not `clear`: V8 keeps the entries of a cleared map in its old table, which points to the next
    // table. Once a table is in the old generation, it keeps all of them, with their requests, from
    // collection.
    this.groupBySubject = new Map()
    return groups
  }
}
