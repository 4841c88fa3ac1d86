import { performance } from 'node:perf_hooks'
import { systemClock } from './clock.ts'
import { LagWindow } from './metrics/lag-window.ts'
import { Histogram } from './metrics/registry.ts'

/** Time as a thread sees it. */
interface ThreadClock {
  monotonicMs(): number
  /** Processor time that the thread has used. */
  threadCpuMs(): number
}

export const threadClock: ThreadClock = {
  monotonicMs: systemClock.monotonicMs,
  threadCpuMs: () => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1000
  },
}

const TICK_MS = 20
/**
 * Processor time for scores in one turn of the loop; less while the loop is behind. A request that
 * arrives during a turn waits for the end of that turn, and then for the requests ahead of it: two
 * turns at most. A turn must not take longer, because Node accepts one new connection in each turn,
 * and probes come on new connections.
 */
const TURN_BUDGET_MS = 300
const BUDGET_BEHIND_MS = 100
/** After a turn that ends this late, the next one has the smaller budget. */
const BEHIND_MS = 50
/** Time for the scores of one team in a turn, if another team has scored within `TEAMS_MS`. */
const TEAM_BUDGET_MS = 40
const TEAMS_MS = 10_000
/** More time between two scores was not all the first one's. */
const SCORE_MS_MAX = 20
const DELAY_BOUNDS_SEC = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]

/**
 * Watches how late the event loop is, by a timer that should fire every 20 ms.
 *
 * The loop is *on time*, or *behind* when the timer was late by more than 50 ms, until it fires in
 * time. Each turn starts with its whole budget; when scores have used it up, the rest of the turn
 * is *overloaded*. Where several teams score, the single scores of one have a part of the budget.
 *
 * Two kinds of time do not count. One is a pause before the turn's first score, for garbage or a
 * large document: a service with little to do has such pauses too. The other is time in which other
 * processes had the processor: it makes the queue no longer.
 */
export class EventLoopWatch {
  /** How late the timer was, in seconds. */
  readonly delays = new Histogram(DELAY_BOUNDS_SEC)
  /** The same of the last half minute. */
  readonly recent = new LagWindow()
  private readonly clock: ThreadClock
  private tickedAtMs: number
  private isBehind = false
  /** When the first score of this turn came; null before it. */
  private firstScoreAtMs: number | null = null
  /** Processor time of the thread when that score came. */
  private firstScoreCpuMs = 0
  /** Time that each team's scores have taken in this turn, in milliseconds. */
  private readonly teamMs = new Map<string, number>()
  /** Whose score came last in this turn; null before the first, and after a batch. */
  private lastTeam: string | null = null
  private lastScoreAtMs = 0
  /** Whose single score came last, in any turn, and when one of another team came before it. */
  private newestTeam: string | null = null
  private otherTeamAtMs = Number.NEGATIVE_INFINITY
  private timer: NodeJS.Timeout | null = null

  constructor(clock: ThreadClock) {
    this.clock = clock
    this.tickedAtMs = clock.monotonicMs()
  }

  start(): void {
    this.tickedAtMs = this.clock.monotonicMs()
    this.timer = setTimeout(() => this.tick(), TICK_MS).unref()
  }

  stop(): void {
    if (this.timer !== null) clearTimeout(this.timer)
    this.timer = null
  }

  /** Called by the timer. */
  tick(): void {
    const nowMs = this.clock.monotonicMs()
    const lateMs = Math.max(0, nowMs - this.tickedAtMs - TICK_MS)
    this.delays.observe(lateMs / 1000)
    this.recent.note(lateMs / 1000)
    this.isBehind = lateMs > BEHIND_MS
    this.tickedAtMs = nowMs
    this.firstScoreAtMs = null
    this.lastTeam = null
    this.teamMs.clear()
    this.timer?.refresh()
  }

  /** True if the loop was late at its last tick: requests wait. */
  get isLate(): boolean {
    return this.isBehind
  }

  /**
   * Tells whether this turn has time for one more score; always true before `start` and after
   * `stop`.
   *
   * @param teamId whose single score it is; null for a batch, which has the time of all teams
   */
  hasTimeForScore(teamId: string | null): boolean {
    if (this.timer === null) return true
    const nowMs = this.clock.monotonicMs()
    const isTeamOver = this.noteTeam(teamId, nowMs)
    if (this.firstScoreAtMs === null) {
      this.firstScoreAtMs = nowMs
      this.firstScoreCpuMs = this.clock.threadCpuMs()
      return true
    }
    const allMs = this.isBehind ? BUDGET_BEHIND_MS : TURN_BUDGET_MS
    const budgetMs = isTeamOver ? TEAM_BUDGET_MS : allMs
    // The cheaper check comes first: the other one is a system call.
    if (nowMs - this.firstScoreAtMs <= budgetMs) return true
    return this.clock.threadCpuMs() - this.firstScoreCpuMs <= budgetMs
  }

  /**
   * Charges the time since the last score to its team.
   *
   * @returns whether the team of this score has used up its part of the turn
   */
  private noteTeam(teamId: string | null, nowMs: number): boolean {
    const { lastTeam, newestTeam, teamMs } = this
    if (lastTeam !== null) {
      const tookMs = Math.min(nowMs - this.lastScoreAtMs, SCORE_MS_MAX)
      teamMs.set(lastTeam, (teamMs.get(lastTeam) ?? 0) + tookMs)
    }
    this.lastTeam = teamId
    this.lastScoreAtMs = nowMs
    if (teamId === null) return false
    if (newestTeam !== null && newestTeam !== teamId) this.otherTeamAtMs = nowMs
    this.newestTeam = teamId
    const isAlone = nowMs - this.otherTeamAtMs > TEAMS_MS
    return !isAlone && (teamMs.get(teamId) ?? 0) > TEAM_BUDGET_MS
  }

  /** Seconds that the loop has worked, and waited for work, since the process started. */
  static usage(): { activeSec: number; idleSec: number } {
    const { active, idle } = performance.eventLoopUtilization()
    return { activeSec: active / 1000, idleSec: idle / 1000 }
  }
}
