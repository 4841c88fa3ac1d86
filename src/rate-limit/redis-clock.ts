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
