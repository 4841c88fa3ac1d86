import { ZERO_FILL_DEFAULT } from '../../../schemas/monitoring-query.ts'
import type { UserCaller } from '../../access/caller.ts'
import { OPERATOR } from '../../audit/record.ts'
import type { Clock } from '../../platform/clock.ts'
import { randomBase62 } from '../../platform/ids/base62.ts'
import type { MonitoringReports } from '../reports.ts'
import type { AlarmCounts, AlarmStore, TakenAlarm } from './alarm.ts'
import { evaluationOf } from './verdict.ts'

interface EvaluatorOptions {
  readonly store: AlarmStore
  readonly monitoring: Pick<MonitoringReports, 'stability'>
  readonly clock: Clock
  readonly onFailed: (error: unknown) => void
}

/** How often a replica looks for alarms whose turn it is. */
const CHECK_MS = 60_000
/** Longer than a scan of the largest log; after that another replica may take the alarm. */
const LEASE_MS = 900_000
/** When an evaluation that failed is tried again. */
const RETRY_MS = 600_000
const DAY_MS = 86_400_000
const RUNNER_CHARS = 12

/**
 * Evaluates the alarms of all teams, each once an hour by one replica, one after the other. The
 * scan of an evaluation waits its turn among those of requests. If all of them take more than an
 * hour, each is evaluated less often, and the number of overdue alarms says so.
 *
 * *Started*: it looks for due alarms every minute. *Closing*, from `close` on: it ends the running
 * evaluation and begins no other.
 */
export class AlarmEvaluator {
  private readonly options: EvaluatorOptions
  private readonly runner = randomBase62(RUNNER_CHARS)
  private timer: NodeJS.Timeout | undefined
  private round: Promise<void> = Promise.resolve()
  private isClosed = false
  /** Evaluations since the start. */
  readonly outcomes = { done: 0, failed: 0 }
  /** As of the last check; null before the first. */
  alarms: AlarmCounts | null = null

  constructor(options: EvaluatorOptions) {
    this.options = options
  }

  start(): void {
    this.timer = setTimeout(() => {
      this.round = this.runOnce().finally(() => {
        if (!this.isClosed) this.start()
      })
    }, CHECK_MS).unref()
  }

  async close(): Promise<void> {
    this.isClosed = true
    clearTimeout(this.timer)
    await this.round
  }

  /** Evaluates all alarms that are due; never rejects. */
  async runOnce(): Promise<void> {
    const { store, onFailed } = this.options
    try {
      let countedAtMs = Number.NEGATIVE_INFINITY
      while (!this.isClosed) {
        // Evaluations can take the whole hour; how many are overdue is told meanwhile.
        if (performance.now() - countedAtMs >= CHECK_MS) {
          this.alarms = await store.counts()
          countedAtMs = performance.now()
        }
        const taken = await store.take(this.runner, LEASE_MS)
        if (taken === null) break
        await this.evaluate(taken)
      }
      this.alarms = await store.counts()
    } catch (error) {
      onFailed(error)
    }
  }

  private async evaluate(taken: TakenAlarm): Promise<void> {
    const { store, monitoring, clock, onFailed } = this.options
    const { deploymentId, teamId, watch, act, nMin, days } = taken
    try {
      const toMs = clock.epochMs()
      const stability = await monitoring.stability(memberOf(teamId), deploymentId, {
        from: new Date(toMs - days * DAY_MS).toISOString(),
        to: new Date(toMs).toISOString(),
        zero_fill: ZERO_FILL_DEFAULT,
        watch,
        act,
      })
      await store.finish(taken, this.runner, evaluationOf(stability, nMin))
      this.outcomes.done++
    } catch (error) {
      this.outcomes.failed++
      onFailed(error)
      // Too many reports wait, a scan took too long, or the database is away.
      await store.postpone(deploymentId, this.runner, RETRY_MS)
    }
  }
}

/** An evaluation sees what any member of the team may see. */
function memberOf(teamId: string): UserCaller {
  return { kind: 'user', userId: OPERATOR, teamId, role: 'viewer' }
}
