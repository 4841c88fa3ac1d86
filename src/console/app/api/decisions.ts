import { useQuery } from '@tanstack/react-query'
import type { Period } from '../ui/complete-period.ts'
import { api, readData } from './client.ts'
import type { Schemas } from './types.ts'

/**
 * Returns what cut-offs would approve, with bands and grades; without any, bands and grades alone.
 */
export function useCutoffs(slug: string, period: Period, cutoffs: readonly number[] = []) {
  return useQuery({
    queryKey: ['/v1/deployments/{slug}/cutoffs', slug, period, cutoffs],
    queryFn: ({ signal }) => readCutoffs(slug, period, cutoffs, signal),
    placeholderData: (before) => before,
  })
}

export function readCutoffs(
  slug: string,
  period: Period,
  cutoffs: readonly number[],
  signal: AbortSignal,
): Promise<Schemas['Cutoffs']> {
  const query = { ...period, ...(cutoffs.length > 0 && { cutoff: [...cutoffs] }) }
  const params = { path: { slug }, query }
  return readData(api.GET('/v1/deployments/{slug}/cutoffs', { params, signal }))
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

export type SwapQuery = Readonly<{
  challenger_id: string
  cutoff?: number
  rule?: Schemas['SwapRule']
  challenger_cutoff?: number
}>

/** Whom a challenger would decide differently; nothing is asked without a query. */
export function useSwapSet(slug: string, query: SwapQuery | null, period: Period) {
  return useQuery({
    queryKey: ['/v1/deployments/{slug}/swap-set', slug, query, period],
    queryFn: ({ signal }) => {
      const params = { path: { slug }, query: { challenger_id: '', ...query, ...period } }
      return readData(api.GET('/v1/deployments/{slug}/swap-set', { params, signal }))
    },
    enabled: query !== null,
    placeholderData: (before) => before,
  })
}
