import { ZERO_FILL_DEFAULT } from '../../../../schemas/monitoring-query.ts'
import { serviceIn } from '../../../identity/audit/record.ts'
import type { Clock } from '../../../platform/clock.ts'
import { randomBase62 } from '../../../platform/ids.ts'
import { Periodic } from '../../../platform/periodic.ts'
import type { MonitoringReports } from '../reports.ts'
import type { AlarmCounts, TakenAlarm } from './alarm.ts'
import type { AlarmStore } from './store.ts'

interface EvaluatorOptions {
  readonly store: AlarmStore
  readonly monitoring: Pick<MonitoringReports, 'evaluate'>
  readonly clock: Clock
  readonly onFailed: (error: unknown) => void
}

/** Interval at which a replica looks for alarms whose turn it is. */
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
 * A replica that closes ends the running evaluation and begins no other.
 */
export class AlarmEvaluator {
  private readonly options: EvaluatorOptions
  private readonly runner = randomBase62(RUNNER_CHARS)
  readonly periodic: Periodic
  /** Evaluations since the start. */
  readonly outcomes = { done: 0, failed: 0 }
  /** As of the last check; null before the first. */
  alarms: AlarmCounts | null = null

  constructor(options: EvaluatorOptions) {
    this.options = options
    const { onFailed } = options
    this.periodic = new Periodic({ round: () => this.evaluateDue(), everyMs: CHECK_MS, onFailed })
  }

  private async evaluateDue(): Promise<void> {
    const { store } = this.options
    let countedAtMs = Number.NEGATIVE_INFINITY
    while (!this.periodic.signal.aborted) {
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
  }

  private async evaluate(taken: TakenAlarm): Promise<void> {
    const { store, monitoring, clock, onFailed } = this.options
    const { deploymentId, teamId, watch, act, nMin, days } = taken
    try {
      const toMs = clock.epochMs()
      const evaluation = await monitoring.evaluate(serviceIn(teamId), deploymentId, {
        from: new Date(toMs - days * DAY_MS).toISOString(),
        to: new Date(toMs).toISOString(),
        zero_fill: ZERO_FILL_DEFAULT,
        watch,
        act,
        n_min: nMin,
      })
      await store.finish(taken, this.runner, evaluation)
      this.outcomes.done++
    } catch (error) {
      this.outcomes.failed++
      onFailed(error)
      // Too many reports wait, a scan took too long, or the database is away.
      await store.postpone(deploymentId, this.runner, RETRY_MS)
    }
  }
}
