import { useQuery } from '@tanstack/react-query'
import type { Period } from '../ui/complete-period.ts'
import { api, readData } from './client.ts'
import type { Schemas } from './types.ts'

export type Interval = 'day' | 'week' | 'month'

export function useAlarm(slug: string) {
  return useQuery({
    queryKey: ['/v1/deployments/{slug}/stability/alarm', slug],
    queryFn: ({ signal }) => {
      const params = { path: { slug } }
      return readData(api.GET('/v1/deployments/{slug}/stability/alarm', { params, signal }))
    },
  })
}

/** The levels of an alarm, so that every page judges as it does; none without an alarm. */
function readLevels(alarm: Schemas['Alarm'] | undefined) {
  return alarm?.is_on ? { watch: alarm.watch, act: alarm.act } : {}
}

/** Tells how the applicants of a period differ from the development sample. */
export function useStability(slug: string, period: Period, alarm: Schemas['Alarm'] | undefined) {
  return useQuery({
    queryKey: ['/v1/deployments/{slug}/stability', slug, period, readLevels(alarm)],
    queryFn: ({ signal }) => {
      const params = { path: { slug }, query: { ...period, ...readLevels(alarm) } }
      return readData(api.GET('/v1/deployments/{slug}/stability', { params, signal }))
    },
    enabled: alarm !== undefined,
  })
}

export function useStabilitySeries(
  slug: string,
  interval: Interval,
  from: string,
  alarm: Schemas['Alarm'] | undefined,
) {
  return useQuery({
    queryKey: ['/v1/deployments/{slug}/stability/series', slug, interval, from, readLevels(alarm)],
    queryFn: ({ signal }) => {
      const params = { path: { slug }, query: { interval, from, ...readLevels(alarm) } }
      return readData(api.GET('/v1/deployments/{slug}/stability/series', { params, signal }))
    },
    enabled: alarm !== undefined,
  })
}
