import type { Static } from '@sinclair/typebox'
import { ACT_DEFAULT, WATCH_DEFAULT, ZERO_FILL_DEFAULT } from '../../../schemas/monitoring-query.ts'
import { MonthlyReport } from '../../../schemas/overview.ts'
import { AppError, deploymentNotFound } from '../../errors.ts'
import type { Caller } from '../../http/access/caller.ts'
import { writeBody } from '../../http/serializers.ts'
import { intervalStart } from '../monitoring/calendar.ts'
import type { Monitored } from '../monitoring/monitored.ts'
import type { MonitoringService } from '../monitoring/service.ts'
import type { MadePerformance } from '../performance/make-performance.ts'
import { type Range, rangeFields, WEEK_MS } from './facts.ts'
import { judgePeriod, type Period } from './judge-period.ts'
import type { ReportStore } from './report-store.ts'

interface ReportOptions {
  readonly store: ReportStore
  readonly monitored: Pick<Monitored, 'deployment'>
  readonly monitoring: Pick<MonitoringService, 'stability' | 'cutoffs'>
  readonly performance: Pick<MadePerformance, 'get'>
}

interface MonthQuery {
  readonly definition?: string | undefined
  /** What became known later does not count; not after now. */
  readonly knownMs: number
  /** The proof of the log at the end of the report. */
  readonly checkpoint: Static<typeof MonthlyReport>['checkpoint']
}

const YEAR_MS = 365 * 86_400_000

/** A committee's view of a deployment and a month. */
export class MonthlyReports {
  private readonly options: ReportOptions

  constructor(options: ReportOptions) {
    this.options = options
  }

  /**
   * Makes the report of a month from the log, with what was known at a moment: champion, cut-off,
   * levels, baseline and outcomes. The same moment gives the same figures again. It is written at
   * once: the bins of a large card are megabytes.
   *
   * @param month as 2026-10
   * @throws AppError `invalid_request` for a month that had not begun, `deployment_not_found`,
   *   `definition_not_found`; `unavailable`
   */
  async write(
    caller: Caller,
    slug: string,
    month: string,
    { knownMs, checkpoint, ...query }: MonthQuery,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const { store, monitored, monitoring, performance } = this.options
    const { fromMs, endMs } = monthRange(month)
    if (fromMs >= knownMs) throw new AppError('invalid_request', 'the month had not begun then')
    await monitored.deployment(caller, slug)
    const range = { fromMs, toMs: Math.min(endMs, knownMs) }
    const state = await store.stateAt(caller.teamId, slug, range.toMs)
    if (state === null) throw deploymentNotFound()
    const judge = (period: Range) =>
      monitoring.stability(caller, slug, {
        ...rangeFields(period),
        model: state.champion.id,
        watch: state.watch ?? WATCH_DEFAULT,
        act: state.act ?? ACT_DEFAULT,
        zero_fill: ZERO_FILL_DEFAULT,
        baseline_until: knownMs,
      })
    const weeks: Period[] = []
    for (const week of listWeeks({ fromMs, toMs: endMs }, knownMs)) {
      const found = await judge(week)
      weeks.push(judgePeriod(found, [...weeks, judgePeriod(found)]))
    }
    const stability = await judge(range)
    const cutoffs = await monitoring.cutoffs(caller, slug, {
      ...rangeFields(range),
      model: state.champion.id,
      cutoffs: state.cutoff === null ? [] : [state.cutoff],
    })
    const definition = query.definition ?? (await store.firstDefinition(caller.teamId, knownMs))
    const known =
      definition === null
        ? null
        : await performance.get(caller, slug, {
            definition,
            ...rangeFields({ fromMs: range.toMs - YEAR_MS, toMs: range.toMs }),
            model: state.champion.id,
            as_known_at: new Date(knownMs).toISOString(),
          })
    const changes = await store.changes(caller.teamId, slug, range)
    return writeBody(MonthlyReport, {
      deployment_id: slug,
      name: state.name,
      environment: state.environment,
      month,
      ...rangeFields(range),
      is_complete: range.toMs === endMs,
      as_known_at: new Date(knownMs).toISOString(),
      champion_model: state.champion,
      cutoff: state.cutoff,
      verdicts: judgePeriod(stability, weeks),
      stability,
      weeks,
      cutoffs,
      performance: known,
      changes: changes.map(({ atMs, ...change }) => ({
        at: new Date(atMs).toISOString(),
        ...change,
      })),
      checkpoint,
    })
  }
}

function monthRange(month: string) {
  const fromMs = Date.parse(`${month}-01T00:00:00Z`)
  const start = new Date(fromMs)
  return { fromMs, endMs: Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1) }
}

/** Weeks that begin within a range and end by a moment. */
function listWeeks({ fromMs, toMs }: Range, endMs: number): Range[] {
  const weeks: Range[] = []
  let startMs = intervalStart('week', fromMs + WEEK_MS - 1)
  for (; startMs < toMs && startMs + WEEK_MS <= endMs; startMs += WEEK_MS) {
    weeks.push({ fromMs: startMs, toMs: startMs + WEEK_MS })
  }
  return weeks
}
