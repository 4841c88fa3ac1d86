import { usePages } from '../ui/pages.tsx'
import { read } from './client.ts'

const PATH = '/v1/overview'
const REFRESH_MS = 60_000
/** Deployments of the first answer: few enough for a slow line. */
const FIRST = 25

/** Pages of the overview, worst first; only the first one, unless more are asked for. */
export function useOverview() {
  return usePages(
    [PATH],
    ({ cursor }, signal) => read(PATH, { query: cursor ? { cursor } : { limit: FIRST } }, signal),
    { refetchInterval: REFRESH_MS },
  )
}
