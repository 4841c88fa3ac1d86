import type { OnDecision } from './limiter.ts'
import { PendingRequests } from './pending-requests.ts'

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
