import { useQuery } from '@tanstack/react-query'
import { api, readData } from './client.ts'
import type { Schemas } from './types.ts'

const REFRESH_MS = 60_000

/** A deployment as the overview judges it; null while the overview does not have it. */
export function useOverviewRow(slug: string) {
  return useQuery({
    queryKey: ['/v1/overview', slug],
    queryFn: async ({ signal }): Promise<Schemas['OverviewDeployment'] | null> => {
      let cursor: string | undefined
      do {
        const query = cursor === undefined ? {} : { cursor }
        const page = await readData(api.GET('/v1/overview', { params: { query }, signal }))
        const found = page.deployments.find((one) => one.slug === slug)
        if (found !== undefined) return found
        cursor = page.next_cursor
      } while (cursor !== undefined)
      return null
    },
    refetchInterval: REFRESH_MS,
  })
}
