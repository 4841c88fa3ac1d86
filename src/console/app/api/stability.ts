import type { Period } from '../ui/complete-period.ts'
import { useAnswer } from './client.ts'
import type { Schemas } from './types.ts'

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
