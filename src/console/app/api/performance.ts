import { useQuery } from '@tanstack/react-query'
import { api, readData } from './client.ts'

/** The definitions of outcomes of the team; the first one is the standard. */
export function useDefinitions() {
  return useQuery({
    queryKey: ['/v1/outcome-definitions'],
    queryFn: async ({ signal }) =>
      (await readData(api.GET('/v1/outcome-definitions', { signal }))).outcome_definitions,
  })
}

interface Asked {
  readonly slug: string
  /** Undefined: nothing is asked. */
  readonly definition: string | undefined
  readonly from?: string
  readonly to?: string
  readonly developmentAuc?: number | undefined
}

/** Measures how good the scores of the champion were. */
export function usePerformance({ slug, definition, developmentAuc, ...period }: Asked) {
  return useQuery({
    queryKey: ['/v1/deployments/{slug}/performance', slug, definition, developmentAuc, period],
    queryFn: ({ signal }) => {
      const query = {
        definition: definition ?? '',
        ...period,
        ...(developmentAuc !== undefined && { development_auc: developmentAuc }),
      }
      const params = { path: { slug }, query }
      return readData(api.GET('/v1/deployments/{slug}/performance', { params, signal }))
    },
    enabled: definition !== undefined,
  })
}
