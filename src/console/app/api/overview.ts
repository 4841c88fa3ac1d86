import { usePages } from '../ui/pages.tsx'
import { read } from './client.ts'
import { RETRY_MS, useFailingSince } from './state.ts'

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
