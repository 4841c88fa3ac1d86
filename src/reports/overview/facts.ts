import type { Stability } from '../../../schemas/monitoring.ts'
import { ACT_DEFAULT, WATCH_DEFAULT, ZERO_FILL_DEFAULT } from '../../../schemas/monitoring-query.ts'
import { OVERVIEW_WEEKS } from '../../../schemas/overview.ts'
import { AppError } from '../../errors.ts'
import type { Caller } from '../../http/access/caller.ts'
import type { MonitoringService } from '../monitoring/service.ts'
import type { MadePerformance } from '../performance/make-performance.ts'
import { labelFeatures } from './feature-labels.ts'
import { judgePeriod, namedFeatures, type Period } from './judge-period.ts'
import type { JudgedWeek, KnownFigures, OverviewFacts, OverviewSubject } from './overview.ts'
import type { OverviewStore } from './store.ts'

interface FactsOptions {
  readonly store: Pick<OverviewStore, 'volumes' | 'cardTexts'>
  readonly monitoring: Pick<MonitoringService, 'stability' | 'cutoffs'>
  readonly performance: Pick<MadePerformance, 'get'>
}

export interface Range {
  readonly fromMs: number
  readonly toMs: number
}

export const WEEK_MS = 604_800_000
const YEAR_MS = 365 * 86_400_000

/** A deployment, and who may see it. */
type Seen = OverviewSubject & { readonly caller: Caller }

/** Makes from the log what an overview says of a deployment. */
export class OverviewFactsMaker {
  private readonly options: FactsOptions

  constructor(options: FactsOptions) {
    this.options = options
  }

  /** Judges the weeks and the month that have ended. */
  async facts(
    caller: Caller,
    subject: OverviewSubject,
    endMs: number,
    month: Range,
  ): Promise<OverviewFacts> {
    const { deploymentId, championId, cutoff } = subject
    const seen = { ...subject, caller }
    const startMs = endMs - OVERVIEW_WEEKS * WEEK_MS
    const volumes = await this.options.store.volumes([deploymentId], startMs)
    const scored = new Set(volumes.map((week) => week.startMs))
    const periods: Period[] = []
    const weeks: JudgedWeek[] = []
    for (let fromMs = startMs; fromMs < endMs; fromMs += WEEK_MS) {
      if (!scored.has(fromMs)) continue
      const stability = await this.stability(seen, { fromMs, toMs: fromMs + WEEK_MS })
      const period = judgePeriod(stability, [...periods, judgePeriod(stability)])
      periods.push(period)
      weeks.push(await this.judgeWeek(seen, fromMs, period))
    }
    const newest = periods.at(-1)
    const week = newest?.to === new Date(endMs).toISOString() ? newest : null
    const judgedMonth = judgePeriod(await this.stability(seen, month), periods)
    return {
      championId,
      cutoff,
      week,
      month: judgedMonth,
      labels: await this.labels(championId, [week, judgedMonth]),
      performance: await this.known(seen, { fromMs: endMs - YEAR_MS, toMs: endMs }),
      weeks,
    }
  }

  private async labels(championId: string, periods: readonly (Period | null)[]) {
    const names = periods.flatMap((period) => (period === null ? [] : namedFeatures(period)))
    if (names.length === 0) return {}
    return labelFeatures(await this.options.store.cardTexts(championId), new Set(names))
  }

  private stability({ caller, watch, act, deploymentId }: Seen, range: Range): Promise<Stability> {
    return this.options.monitoring.stability(caller, deploymentId, {
      ...rangeFields(range),
      watch: watch ?? WATCH_DEFAULT,
      act: act ?? ACT_DEFAULT,
      zero_fill: ZERO_FILL_DEFAULT,
    })
  }

  private async judgeWeek(seen: Seen, startMs: number, { stability }: Period): Promise<JudgedWeek> {
    const { caller, cutoff, deploymentId } = seen
    const range = { fromMs: startMs, toMs: startMs + WEEK_MS }
    const query = rangeFields(range)
    const cutoffs = cutoff === null ? [] : [cutoff]
    const approved =
      cutoff === null
        ? null
        : await this.options.monitoring.cutoffs(caller, deploymentId, { ...query, cutoffs })
    const known = await this.known(seen, range)
    return {
      startMs,
      psi: stability.psi,
      cv95: stability.cv_95,
      verdict: stability.verdict,
      approvalRate: approved?.cutoffs[0]?.approval_rate ?? null,
      good: known?.good ?? null,
      bad: known?.bad ?? null,
    }
  }

  /** Null where no good or bad outcome is known, and where there are too many for a report. */
  private async known(seen: Seen, range: Range): Promise<KnownFigures | null> {
    const { caller, definition, outcomeRevision, deploymentId } = seen
    if (definition === null || outcomeRevision === null) return null
    const query = { ...rangeFields(range), definition }
    try {
      const found = await this.options.performance.get(caller, deploymentId, query)
      const { n, good, bad, auc, gini, verdicts } = found
      return n === 0 ? null : { ...query, n, good, bad, auc, gini, verdicts }
    } catch (error) {
      if (error instanceof AppError && error.code === 'invalid_request') return null
      throw error
    }
  }
}

/** A range as queries and answers have it. */
export function rangeFields({ fromMs, toMs }: Range) {
  return { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() }
}
