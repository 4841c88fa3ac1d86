import { keepPreviousData } from '@tanstack/react-query'
import type { Period } from '../ui/complete-period.ts'
import { read, useAnswer } from './client.ts'
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
