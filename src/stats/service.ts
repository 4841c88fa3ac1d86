import { COMPARED_APPLICANTS_MAX } from '../../schemas/stats.ts'
import type { Caller, Environment } from '../auth/caller.ts'
import type { Clock } from '../clock.ts'
import { AppError, deploymentNotFound } from '../errors.ts'
import { isId } from '../ids.ts'
import { mergedRollup, type Rollup } from '../scorelog/rollup.ts'
import {
  coverOf,
  SPAN_MS,
  type Span,
  type SpanStretch,
  type Stretch,
  spanStart,
} from '../scorelog/spans.ts'
import { type Comparison, compareModels, type LoggedRequest } from './comparison.ts'
import { readMoment } from './moment.ts'

export interface StatsQuery {
  readonly recent: number
  /** ISO 8601; absent: from the beginning. */
  readonly from: string | undefined
  /** ISO 8601; absent: until now. */
  readonly to: string | undefined
}

export interface RecentScore {
  readonly requestId: string
  readonly score: number
  readonly grade: string | null
  readonly pd: number
  readonly latencyMs: number
  readonly scoredAtMs: number
}

export interface DeploymentStats {
  /** Null when nothing was scored. */
  readonly summary: Rollup | null
  /** Newest first. */
  readonly recent: readonly RecentScore[]
}

/** The rollup of one writer for one minute, hour or day. */
export interface SpanRollup {
  readonly span: Span
  readonly startsAtMs: number
  readonly rollup: Rollup
}

/** What was answered in each step of a stretch of time, oldest first; empty steps are left out. */
export interface StatsSeries {
  readonly step: Span
  readonly points: readonly { readonly startsAtMs: number; readonly rollup: Rollup }[]
}

/** What the service needs of the database. */
export interface StatsStore {
  /** @returns null when the team has no such deployment */
  environmentOf(teamId: string, deploymentId: string): Promise<Environment | null>
  rollups(deploymentId: string, spans: readonly SpanStretch[]): Promise<SpanRollup[]>
  /** Sums up the log itself; null when there is nothing in these stretches. */
  rollupOfLog(deploymentId: string, stretches: readonly Stretch[]): Promise<Rollup | null>
  /**
   * The newest results of the log.
   *
   * @param stretches newest first, without overlap
   */
  recent(deploymentId: string, stretches: readonly Stretch[], limit: number): Promise<RecentScore[]>
  /**
   * The newest requests of the log, as few as hold so many applicants, newest first.
   *
   * @param stretches newest first, without overlap
   */
  newestRequests(
    deploymentId: string,
    stretches: readonly Stretch[],
    applicantsMax: number,
  ): Promise<LoggedRequest[]>
}

/** What deployments have answered. */
export class StatsService {
  private readonly store: StatsStore
  private readonly clock: Clock

  constructor(store: StatsStore, clock: Clock) {
    this.store = store
    this.clock = clock
  }

  /**
   * Sums up what a deployment, active or not, has served.
   *
   * Reads rollups, so that it costs the same however long the log is: of all time those of days, of a
   * stretch of it whole days, hours and minutes, and from the log only the parts of a minute at its ends.
   *
   * @throws AppError `invalid_request`, `deployment_not_found`
   */
  async get(caller: Caller, slug: string, query: StatsQuery): Promise<DeploymentStats> {
    const stretch = stretchOf(query)
    await this.requireVisible(caller, slug)
    const { spans, rests } = coverOf(stretch)
    const [rollups, ofLog] = await Promise.all([
      spans.length === 0 ? [] : this.store.rollups(slug, spans),
      rests.length === 0 ? null : this.store.rollupOfLog(slug, rests),
    ])
    const summary = mergedRollup([
      ...rollups.map(({ rollup }) => rollup),
      ...(ofLog ? [ofLog] : []),
    ])
    if (summary === null) return { summary, recent: [] }
    const stretches = newestStretches(rollups, rests, query.recent)
    return { summary, recent: await this.store.recent(slug, stretches, query.recent) }
  }

  /**
   * What a deployment has served in each minute, hour or day: of up to 6 hours, 14 days, or longer. The
   * stretch ends now and is a day long unless asked otherwise.
   *
   * @throws AppError `invalid_request`, `deployment_not_found`
   */
  async series(
    caller: Caller,
    slug: string,
    { from, to }: { readonly from: string | undefined; readonly to: string | undefined },
  ): Promise<StatsSeries> {
    const toMs = to === undefined ? this.clock.epochMs() + 1 : readMoment('to', to)
    const fromMs = from === undefined ? toMs - SPAN_MS.day : readMoment('from', from)
    requireOrder({ fromMs, toMs })
    await this.requireVisible(caller, slug)
    const lengthMs = toMs - fromMs
    const step = lengthMs <= MINUTES_MS_MAX ? 'minute' : lengthMs <= HOURS_MS_MAX ? 'hour' : 'day'
    const stretch = { span: step, fromMs: spanStart(step, fromMs), toMs } as const
    const byStart = new Map<number, Rollup[]>()
    for (const { startsAtMs, rollup } of await this.store.rollups(slug, [stretch])) {
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
   * The models of a deployment side by side on the newest applicants of the log, about
   * `applicantsMax` at the most: what it costs does not grow with the log.
   *
   * @throws AppError `invalid_request`, `deployment_not_found`
   */
  async compare(
    caller: Caller,
    slug: string,
    query: { readonly from: string | undefined; readonly to: string | undefined },
  ): Promise<Comparison> {
    const stretch = stretchOf(query)
    await this.requireVisible(caller, slug)
    const { spans, rests } = coverOf(stretch)
    const rollups = spans.length === 0 ? [] : await this.store.rollups(slug, spans)
    const stretches = newestStretches(rollups, rests, COMPARED_APPLICANTS_MAX)
    if (stretches.length === 0) return compareModels([])
    const max = COMPARED_APPLICANTS_MAX
    return compareModels(await this.store.newestRequests(slug, stretches, max))
  }

  /** A deployment of another team or environment answers as one that does not exist. */
  private async requireVisible(caller: Caller, slug: string): Promise<void> {
    const environment = isId(slug, 'dep_')
      ? await this.store.environmentOf(caller.teamId, slug)
      : null
    const own = caller.kind === 'key' ? caller.environment : null
    if (environment === null || (own !== null && own !== environment)) throw deploymentNotFound()
  }
}

/** Longest stretches that are told by the minute, and by the hour. */
const MINUTES_MS_MAX = 6 * SPAN_MS.hour
const HOURS_MS_MAX = 14 * SPAN_MS.day

function stretchOf({ from, to }: Pick<StatsQuery, 'from' | 'to'>): Stretch {
  const fromMs = from === undefined ? Number.NEGATIVE_INFINITY : readMoment('from', from)
  const toMs = to === undefined ? Number.POSITIVE_INFINITY : readMoment('to', to)
  requireOrder({ fromMs, toMs })
  return { fromMs, toMs }
}

function requireOrder({ fromMs, toMs }: Stretch): void {
  if (fromMs > toMs) throw new AppError('invalid_request', 'from must not be later than to')
}

/**
 * Where the newest results lie, newest first: the log is then looked into only there, whatever else it
 * holds. The ends of a minute have no count of their own and are always looked into.
 */
function newestStretches(
  rollups: readonly SpanRollup[],
  rests: readonly Stretch[],
  wanted: number,
): Stretch[] {
  const counts = new Map<number, { stretch: Stretch; results: number }>()
  for (const { span, startsAtMs, rollup } of rollups) {
    const stretch = { fromMs: startsAtMs, toMs: startsAtMs + SPAN_MS[span] }
    const found = counts.get(startsAtMs) ?? { stretch, results: 0 }
    counts.set(startsAtMs, { stretch, results: found.results + rollup.resultCount })
  }
  const stretches = [...rests]
  let results = 0
  for (const [, found] of [...counts].sort(([a], [b]) => b - a)) {
    stretches.push(found.stretch)
    results += found.results
    if (results >= wanted) break
  }
  return stretches.sort((a, b) => b.fromMs - a.fromMs)
}
