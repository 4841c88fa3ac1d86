import type { Caller } from '../../http/access/caller.ts'
import {
  coverRange,
  mergedRollup,
  type Rollup,
  readMoment,
  readTimeRange,
  requireOrder,
  SPAN_MS,
  type Span,
  spanStart,
  type TimeRange,
} from '../../log/index.ts'
import type { Clock } from '../../platform/clock.ts'
import type { BlockStats, RecentScore } from './block-stats.ts'
import type { Comparison } from './comparison.ts'
import { type Comparisons, requireVisible } from './model-comparisons.ts'
import type { SpanRollup, StatsStore } from './store.ts'

interface StatsQuery {
  readonly recent: number
  /** ISO 8601; undefined: no lower bound. */
  readonly from: string | undefined
  /** ISO 8601; undefined: no upper bound. */
  readonly to: string | undefined
}

interface DeploymentStats {
  /** Null if there are no scores. */
  readonly summary: Rollup | null
  /** Newest first. */
  readonly recent: readonly RecentScore[]
}

/** The results of each step of a time range, oldest first; empty steps are left out. */
interface StatsSeries {
  readonly step: Span
  readonly points: readonly { readonly startsAtMs: number; readonly rollup: Rollup }[]
}

interface StatsOptions {
  readonly store: StatsStore
  /** Bounds its own calls: blocks can be in an archive, which is not the database. */
  readonly blocks: BlockStats
  readonly comparisons: Comparisons
  readonly clock: Clock
}

/** Statistics of served results. */
export class StatsService {
  private readonly options: StatsOptions

  constructor(options: StatsOptions) {
    this.options = options
  }

  /**
   * Sums up the served results of a deployment, active or not.
   *
   * Reads rollups, so that its cost does not grow with the log: the days without a range; else
   * whole days, hours and minutes, and from the log only the parts of a minute at the ends of the
   * range.
   *
   * @throws AppError `invalid_request`, `deployment_not_found`
   */
  async get(caller: Caller, slug: string, query: StatsQuery): Promise<DeploymentStats> {
    const range = readTimeRange(query)
    await requireVisible(this.options.store, caller, slug)
    const { spans, rests } = coverRange(range)
    const [rollups, ofLog] = await Promise.all([
      spans.length === 0 ? [] : this.options.store.rollups(slug, spans),
      rests.length === 0 ? null : this.options.blocks.rollup(slug, rests),
    ])
    const summary = mergedRollup([
      ...rollups.map(({ rollup }) => rollup),
      ...(ofLog ? [ofLog] : []),
    ])
    if (summary === null) return { summary, recent: [] }
    const ranges = newestRanges(rollups, rests, query.recent)
    return { summary, recent: await this.options.blocks.recent(slug, ranges, query.recent) }
  }

  /**
   * The served results of each minute (range up to 6 hours), hour (up to 14 days) or day (longer).
   * By default the range ends now and is a day long.
   *
   * @throws AppError `invalid_request`, `deployment_not_found`
   */
  async series(
    caller: Caller,
    slug: string,
    { from, to }: { readonly from: string | undefined; readonly to: string | undefined },
  ): Promise<StatsSeries> {
    const toMs = to === undefined ? this.options.clock.epochMs() + 1 : readMoment('to', to)
    const fromMs = from === undefined ? toMs - SPAN_MS.day : readMoment('from', from)
    requireOrder({ fromMs, toMs })
    await requireVisible(this.options.store, caller, slug)
    const lengthMs = toMs - fromMs
    const step = lengthMs <= MINUTES_MS_MAX ? 'minute' : lengthMs <= HOURS_MS_MAX ? 'hour' : 'day'
    const range = { span: step, fromMs: spanStart(step, fromMs), toMs } as const
    const byStart = new Map<number, Rollup[]>()
    for (const { startsAtMs, rollup } of await this.options.store.rollups(slug, [range])) {
      byStart.set(startsAtMs, [...(byStart.get(startsAtMs) ?? []), rollup])
    }
    const points = [...byStart]
      .sort(([a], [b]) => a - b)
      .flatMap(([startsAtMs, rollups]) => {
        const rollup = mergedRollup(rollups)
        return rollup === null ? [] : [{ startsAtMs, rollup }]
      })
    return { step, points }
  }

  /**
   * Compares the models of a deployment over all applicants of a time range. It reads them all, in
   * turns with other reports.
   *
   * @throws AppError `invalid_request`, `deployment_not_found`; `unavailable` when too many wait
   */
  compare(
    caller: Caller,
    slug: string,
    query: { readonly from: string | undefined; readonly to: string | undefined },
  ): Promise<Comparison> {
    return this.options.comparisons.compare(caller, slug, query)
  }
}

/** Longest ranges with a step of a minute, and of an hour. */
const MINUTES_MS_MAX = 6 * SPAN_MS.hour
const HOURS_MS_MAX = 14 * SPAN_MS.day

/**
 * The ranges of the newest results, newest first: the query reads only these parts of the log.
 * The parts of a minute have no count and are always read.
 */
function newestRanges(
  rollups: readonly SpanRollup[],
  rests: readonly TimeRange[],
  resultsMax: number,
): TimeRange[] {
  const counts = new Map<number, { range: TimeRange; results: number }>()
  for (const { span, startsAtMs, rollup } of rollups) {
    const range = { fromMs: startsAtMs, toMs: startsAtMs + SPAN_MS[span] }
    const found = counts.get(startsAtMs) ?? { range, results: 0 }
    counts.set(startsAtMs, { range, results: found.results + rollup.resultCount })
  }
  const ranges = [...rests]
  let results = 0
  for (const [, found] of [...counts].sort(([a], [b]) => b - a)) {
    ranges.push(found.range)
    results += found.results
    if (results >= resultsMax) break
  }
  return ranges.sort((a, b) => b.fromMs - a.fromMs)
}
