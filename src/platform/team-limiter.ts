interface LimiterBounds {
  readonly teamMax: number
  /** The bound for all teams together. */
  readonly max: number
}

/**
 * Bounds work that holds something scarce: so much for each team, and so much in all. A team that
 * uses all of its own part leaves some for others.
 */
export class TeamLimiter {
  private readonly bounds: LimiterBounds
  private readonly underWay = new Map<string, number>()
  private count = 0

  constructor(bounds: LimiterBounds) {
    this.bounds = bounds
  }

  /**
   * Counts work of a team, unless a bound is reached.
   *
   * @param refusal the error for the bound that is reached
   * @returns to be called when the work has ended; it may be repeated
   */
  reserve(teamId: string, refusal: (reached: 'team' | 'all') => Error): () => void {
    if ((this.underWay.get(teamId) ?? 0) >= this.bounds.teamMax) throw refusal('team')
    if (this.count >= this.bounds.max) throw refusal('all')
    return this.add(teamId)
  }

  /** Counts work that can't be refused any more. @returns as `reserve` does */
  add(teamId: string): () => void {
    this.underWay.set(teamId, (this.underWay.get(teamId) ?? 0) + 1)
    this.count++
    let isReleased = false
    return () => {
      if (isReleased) return
      isReleased = true
      this.count--
      const left = (this.underWay.get(teamId) ?? 1) - 1
      if (left > 0) this.underWay.set(teamId, left)
      else this.underWay.delete(teamId)
    }
  }
}
