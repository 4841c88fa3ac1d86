import type { Static } from '@sinclair/typebox'
import {
  OVERVIEW_PAGE_MAX,
  OVERVIEW_WEEKS,
  type OverviewDeployment,
  type OverviewQuery,
} from '../../../schemas/overview.ts'
import { AppError } from '../../errors.ts'
import type { Caller } from '../../http/access/caller.ts'
import type { Clock } from '../../platform/clock.ts'
import { intervalStart } from '../monitoring/calendar.ts'
import { rangeFields, WEEK_MS } from './facts.ts'
import { previousMonth } from './maker.ts'
import { ATTENTION, type OverviewRow, type WeekVolume } from './overview.ts'
import type { OverviewStore } from './store.ts'

interface OverviewOptions {
  readonly store: Pick<OverviewStore, 'page' | 'volumes'>
  readonly clock: Clock
}

/** All deployments at a glance, from sums and from what a round has judged. */
export class OverviewService {
  private readonly options: OverviewOptions

  constructor(options: OverviewOptions) {
    this.options = options
  }

  /** @throws AppError `invalid_request` for a cursor that no page gave */
  async get(caller: Caller, query: Static<typeof OverviewQuery>) {
    const { store, clock } = this.options
    const limit = query.limit ?? OVERVIEW_PAGE_MAX
    const own = caller.kind === 'key' ? caller.environment : null
    const wanted = query.environment ?? own
    const isOther = own !== null && wanted !== own
    const page = { teamId: caller.teamId, environment: wanted, limit: limit + 1 }
    const rows = isOther ? [] : await store.page({ ...page, after: readCursor(query.cursor) })
    const shown = rows.slice(0, limit)
    const nowMs = clock.epochMs()
    const weekMs = intervalStart('week', nowMs)
    const startMs = weekMs - OVERVIEW_WEEKS * WEEK_MS
    const ids = shown.map(({ id }) => id)
    const volumes = new Map<string, WeekVolume>()
    for (const week of await store.volumes(ids, startMs)) {
      volumes.set(`${week.deploymentId} ${week.startMs}`, week)
    }
    const last = shown.at(-1)
    const month = previousMonth(nowMs)
    return {
      week: rangeFields({ fromMs: weekMs - WEEK_MS, toMs: weekMs }),
      month: rangeFields(month),
      deployments: shown.map((row) => rowFields(row, volumes, startMs)),
      ...(rows.length > limit && last && { next_cursor: `${last.level}.${last.id}` }),
    }
  }
}

function readCursor(cursor: string | undefined) {
  if (cursor === undefined) return null
  const read = /^([0-3])\.(dep_[0-9A-Za-z]+)$/.exec(cursor)
  if (read === null) throw new AppError('invalid_request', 'cursor is not one of this list')
  return { level: Number(read[1]), id: read[2] ?? '' }
}

function rowFields(
  row: OverviewRow,
  volumes: ReadonlyMap<string, WeekVolume>,
  startMs: number,
): Static<typeof OverviewDeployment> {
  const { champion, alarm, lastChange, madeAtMs } = row
  // What was judged of another champion says nothing about the one of now.
  const facts = row.facts?.championId === champion.id ? row.facts : null
  const judged = new Map(facts?.weeks.map((week) => [week.startMs, week]))
  const weeks = Array.from({ length: OVERVIEW_WEEKS + 1 }, (_, index) => {
    const fromMs = startMs + index * WEEK_MS
    const volume = volumes.get(`${row.id} ${fromMs}`)
    const week = judged.get(fromMs)
    const labelled = (week?.good ?? 0) + (week?.bad ?? 0)
    return {
      ...rangeFields({ fromMs, toMs: fromMs + WEEK_MS }),
      is_complete: index < OVERVIEW_WEEKS,
      volume: volume?.n ?? 0,
      mean_score: volume?.meanScore ?? null,
      psi: week?.psi ?? null,
      cv_95: week?.cv95 ?? null,
      verdict: week?.verdict ?? null,
      approval_rate: facts?.cutoff === row.cutoff ? (week?.approvalRate ?? null) : null,
      good: week?.good ?? null,
      bad: week?.bad ?? null,
      bad_rate: labelled === 0 ? null : (week?.bad ?? 0) / labelled,
    }
  })
  const newest = new Date(startMs + (OVERVIEW_WEEKS - 1) * WEEK_MS).toISOString()
  return {
    id: row.id,
    slug: row.id,
    name: row.name,
    environment: row.environment,
    is_active: row.isActive,
    attention: ATTENTION[row.level] ?? 'unknown',
    champion_model: champion,
    challengers: [...row.challengers],
    shadow_mode: row.shadowMode,
    cutoff: row.cutoff,
    alarm: alarm && {
      is_on: alarm.isOn,
      verdict: alarm.verdict,
      n: alarm.n,
      psi: alarm.psi,
      days: alarm.days,
      evaluated_at: momentText(alarm.evaluatedAtMs),
      changed_at: momentText(alarm.changedAtMs),
    },
    week: facts?.week?.from === newest ? facts.week : null,
    month: facts?.month ?? null,
    labels: facts?.labels ?? {},
    performance: facts?.performance ?? null,
    weeks,
    waiting_changes: row.waitingChanges,
    last_change: lastChange && {
      at: new Date(lastChange.atMs).toISOString(),
      action: lastChange.action,
    },
    judged_at: facts === null ? null : momentText(madeAtMs),
  }
}

function momentText(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString()
}
