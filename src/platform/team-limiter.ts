import pLimit, { type LimitFunction } from 'p-limit'
import { serviceBusy } from '../errors.ts'

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
   * @param teamIsFull the error at the bound of the team
   * @returns to be called when the work has ended; it may be repeated
   * @throws AppError `unavailable` at the bound of all teams
   */
  reserve(teamId: string, teamIsFull: () => Error): () => void {
    if ((this.underWay.get(teamId) ?? 0) >= this.bounds.teamMax) throw teamIsFull()
    if (this.count >= this.bounds.max) throw serviceBusy()
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

interface QueueBounds {
  /** Work that runs at a time; of a team one runs. */
  readonly atOnce: number
  /** Work of a team that waits or runs, and that of all teams. */
  readonly ofTeamMax: number
  readonly max: number
}

/**
 * Runs work of several turns of the event loop. Work of a team runs one after the other, so that a
 * team with much of it takes one of the places and leaves the others.
 */
export class TeamQueue {
  private readonly limiter: TeamLimiter
  private readonly places: LimitFunction
  private readonly teams = new Map<string, { readonly turn: LimitFunction; count: number }>()

  constructor({ atOnce, ofTeamMax, max }: QueueBounds) {
    this.limiter = new TeamLimiter({ teamMax: ofTeamMax, max })
    this.places = pLimit(atOnce)
  }

  /**
   * Runs work when its turn has come.
   *
   * @param teamIsFull the error at the bound of the team
   * @throws AppError `unavailable` at the bound of all teams; what `work` throws
   */
  async run<T>(teamId: string, work: () => Promise<T>, teamIsFull: () => Error): Promise<T> {
    const release = this.limiter.reserve(teamId, teamIsFull)
    const team = this.teams.get(teamId) ?? { turn: pLimit(1), count: 0 }
    this.teams.set(teamId, team)
    team.count++
    try {
      return await team.turn(() => this.places(work))
    } finally {
      release()
      team.count--
      if (team.count === 0) this.teams.delete(teamId)
    }
  }
}
