import { serviceIn } from '../../identity/audit/record.ts'
import type { Clock } from '../../platform/clock.ts'
import { randomBase62 } from '../../platform/ids.ts'
import { Periodic } from '../../platform/periodic.ts'
import { intervalStart } from '../monitoring/calendar.ts'
import type { Range } from './facts.ts'
import { decideLevel, type OverviewSubject } from './overview.ts'
import type { OverviewReports } from './reports.ts'
import type { OverviewStore } from './store.ts'

interface MakerOptions {
  readonly store: OverviewStore
  readonly reports: Pick<OverviewReports, 'facts'>
  readonly clock: Clock
  readonly onFailed: (error: unknown) => void
}

const CHECK_MS = 60_000
/** Longer than reports over a year take; after that another replica may take the deployment. */
const LEASE_MS = 1_800_000
const RETRY_MS = 600_000
const RUNNER_CHARS = 12

/**
 * Makes what the overview says of each deployment: once an hour it looks whether a week has ended,
 * or champion, baseline, levels, cut-off or outcomes have changed, and only then reads the log. Its
 * reports wait their turn among those of requests.
 * A replica that closes ends what runs, and begins no other.
 */
export class OverviewMaker {
  private readonly options: MakerOptions
  private readonly runner = randomBase62(RUNNER_CHARS)
  readonly periodic: Periodic

  constructor(options: MakerOptions) {
    this.options = options
    const { onFailed } = options
    this.periodic = new Periodic({ round: () => this.makeDue(), everyMs: CHECK_MS, onFailed })
  }

  private async makeDue(): Promise<void> {
    while (!this.periodic.signal.aborted) {
      const subject = await this.options.store.take(this.runner, LEASE_MS)
      if (subject === null) return
      await this.make(subject)
    }
  }

  private async make(subject: OverviewSubject): Promise<void> {
    const { store, reports, clock, onFailed } = this.options
    try {
      const nowMs = clock.epochMs()
      const endMs = intervalStart('week', nowMs)
      const month = previousMonth(nowMs)
      const { basis: before, deploymentId: _, teamId: __, ...made } = subject
      const basis = JSON.stringify({ endMs, month, ...made })
      if (basis === before) await store.finish(subject, this.runner, null)
      else {
        const facts = await reports.facts(serviceIn(subject.teamId), subject, endMs, month)
        await store.finish(subject, this.runner, { facts, level: decideLevel(facts), basis })
      }
    } catch (error) {
      onFailed(error)
      await store.postpone(subject.deploymentId, this.runner, RETRY_MS)
    }
  }
}

/** The newest month in UTC that is over at a time. */
export function previousMonth(atMs: number): Range {
  const toMs = intervalStart('month', atMs)
  return { fromMs: intervalStart('month', toMs - 1), toMs }
}
