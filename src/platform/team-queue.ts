import pLimit, { type LimitFunction } from 'p-limit'
import { TeamLimiter } from './team-limiter.ts'

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
