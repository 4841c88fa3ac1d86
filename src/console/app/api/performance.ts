import type { Period } from '../ui/complete-period.ts'
import { useAnswer } from './client.ts'

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
