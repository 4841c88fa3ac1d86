import { useInfiniteQuery } from '@tanstack/react-query'
import { read } from './client.ts'

const PATH = '/v1/overview'
const REFRESH_MS = 60_000
/** Deployments of the first answer: few enough for a slow line. */
const FIRST = 25

/** Pages of the overview, worst first; only the first one, unless more are asked for. */
export function useOverview() {
  return useInfiniteQuery({
    queryKey: [PATH],
    queryFn: ({ pageParam: cursor, signal }) =>
      read(PATH, { query: cursor === '' ? { limit: FIRST } : { cursor } }, signal),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor }) => next_cursor,
    refetchInterval: REFRESH_MS,
  })
}
