import { keepPreviousData } from '@tanstack/react-query'
import type { Period } from '../ui/complete-period.ts'
import { VERDICTS } from '../ui/light-kind.ts'
import { usePages } from '../ui/pages.tsx'
import { read, useAnswer } from './client.ts'
import { RETRY_MS, useFailingSince } from './state.ts'
import type { Schemas } from './types.ts'

const CUTOFFS = '/v1/deployments/{slug}/cutoffs'

/** Returns bands and grades, and what the cut-offs would approve. */
export function useCutoffs(slug: string, period: Period, cutoff: number[] = []) {
  const params = { path: { slug }, query: { ...period, cutoff } }
  return useAnswer(CUTOFFS, params, { placeholderData: keepPreviousData })
}

export function readCutoffs(slug: string, period: Period, cutoff: number[], signal: AbortSignal) {
  return read(CUTOFFS, { path: { slug }, query: { ...period, cutoff } }, signal)
}

/** The lower end of the band with the median score, as a first cut-off; null without scores. */
export function medianBand({ bands, n }: Schemas['Cutoffs']): number | null {
  let below = 0
  for (const band of bands) {
    below += band.n
    if (2 * below >= n) return band.min
  }
  return null
}

/** Whom a challenger would decide differently; without a cut-off, nothing is asked. */
export function useSwapSet(
  slug: string,
  query: Period & {
    challenger_id: string
    cutoff: number | null
    rule: Schemas['SwapRule']
    challenger_cutoff?: number
  },
) {
  const { cutoff, ...rest } = query
  return useAnswer(
    '/v1/deployments/{slug}/swap-set',
    { path: { slug }, query: { ...rest, cutoff: cutoff ?? undefined } },
    { enabled: cutoff !== null, placeholderData: keepPreviousData },
  )
}

/** The definitions of outcomes of the team; the first one is the standard. */
export function useDefinitions() {
  return useAnswer('/v1/outcome-definitions', {}, { select: (found) => found.outcome_definitions })
}

/** Measures how good the scores of the champion were; without a definition, nothing is asked. */
export function usePerformance(
  slug: string,
  definition = '',
  query: Period & { development_auc?: number | undefined } = {},
) {
  return useAnswer(
    '/v1/deployments/{slug}/performance',
    { path: { slug }, query: { definition, ...query } },
    { enabled: definition !== '' },
  )
}

export type Interval = 'day' | 'week' | 'month'
type Known = Schemas['Alarm'] | undefined

export function useAlarm(slug: string) {
  return useAnswer('/v1/deployments/{slug}/stability/alarm', { path: { slug } })
}

/** The levels of an alarm, so that every page judges as it does; none without an alarm. */
function readLevels(alarm: Known) {
  return alarm?.is_on ? { watch: alarm.watch, act: alarm.act } : {}
}

/** Tells how the applicants of a period differ from the development sample. */
export function useStability(slug: string, period: Period, alarm: Known) {
  const params = { path: { slug }, query: { ...period, ...readLevels(alarm) } }
  return useAnswer('/v1/deployments/{slug}/stability', params, { enabled: alarm !== undefined })
}

export function useStabilitySeries(slug: string, interval: Interval, from: string, alarm: Known) {
  const params = { path: { slug }, query: { interval, from, ...readLevels(alarm) } }
  const options = { enabled: alarm !== undefined }
  return useAnswer('/v1/deployments/{slug}/stability/series', params, options)
}

type Change = Schemas['HistoryChange']

/** A change that charts over time mark. */
interface Mark {
  readonly at: number
  readonly name: string
}

export function useHistory(slug: string) {
  const params = { path: { slug } }
  return useAnswer('/v1/deployments/{slug}/history', params, { select: ({ changes }) => changes })
}

/** Promotions and rollbacks within a time: they move curves, other changes seldom do. */
export function useMarks(slug: string, from: number, to: number): readonly Mark[] {
  const { data = [] } = useHistory(slug)
  return data
    .filter(({ kind }) => kind === 'promote' || kind === 'rollback')
    .map((change) => ({ at: Date.parse(change.at), name: changeText(change) }))
    .filter(({ at }) => at >= from && at <= to)
}

export function changeText(change: Change): string {
  const { kind, champion_version: champion, verdict } = change
  switch (kind) {
    case 'create':
      return 'Deployed'
    case 'update':
      return change.is_active === false ? 'Switched off' : 'Settings changed'
    case 'promote':
      return `${champion ?? 'A model'} promoted`
    case 'rollback':
      return `Rolled back to ${champion ?? 'a model'}`
    case 'toggle_shadow':
      return change.shadow_mode === true ? 'Shadow mode' : 'Live split'
    case 'stability_verdict':
      return `Alarm: ${verdict === null ? 'no verdict' : VERDICTS[verdict][1].toLowerCase()}`
    case 'set_reason_baseline':
      return 'Baseline of reasons set'
    default:
      return sharesText(change)
  }
}

function sharesText({ challengers, shadow_mode: isShadow }: Change): string {
  if (challengers.length === 0) return 'No challengers'
  const names = challengers.map(({ version, traffic_pct: share }) =>
    isShadow === true ? (version ?? 'a model') : `${version ?? 'a model'} ${share} %`,
  )
  return `${isShadow === true ? 'In shadow' : 'Shares'}: ${names.join(', ')}`
}

const PATH = '/v1/overview'
const REFRESH_MS = 30_000
/** Deployments of the first answer: few enough for a slow line. */
const FIRST = 25

/**
 * Pages of the overview, worst first; only the first one, unless more are asked for. The frame of
 * every page asks, so a page that only stands open notices that the service is away, or back.
 */
export function useOverview() {
  const refetchInterval = useFailingSince() === null ? REFRESH_MS : RETRY_MS
  return usePages(
    [PATH],
    ({ cursor }, signal) => read(PATH, { query: cursor ? { cursor } : { limit: FIRST } }, signal),
    { refetchInterval },
  )
}
