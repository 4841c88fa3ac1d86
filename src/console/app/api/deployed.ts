import { useQuery } from '@tanstack/react-query'
import { withVersion } from '../ui/names.ts'
import { api, readData } from './client.ts'
import type { Environment, Schemas } from './types.ts'

const FRESH_MS = 60_000

/** All deployments with environment and models, as the overview has them. */
export function useDeployed() {
  return useQuery({
    queryKey: ['/v1/overview', 'all'],
    staleTime: FRESH_MS,
    queryFn: async ({ signal }): Promise<readonly Schemas['OverviewDeployment'][]> => {
      const found: Schemas['OverviewDeployment'][] = []
      let cursor: string | undefined
      do {
        const query = cursor === undefined ? {} : { cursor }
        const page = await readData(api.GET('/v1/overview', { params: { query }, signal }))
        found.push(...page.deployments)
        cursor = page.next_cursor
      } while (cursor !== undefined)
      return found
    },
  })
}

/** Which environment a deployment is of, and its name, by its id; undefined while unknown. */
export function useDeploymentById() {
  const { data = [] } = useDeployed()
  const byId = new Map(data.map((one) => [one.id, one]))
  return (id: string): Schemas['OverviewDeployment'] | undefined => byId.get(id)
}

/** Deployments for a choice: production first, and never without the environment. */
export function deploymentChoices(
  deployments: readonly Schemas['OverviewDeployment'][],
): { value: string; label: string }[] {
  const rank = (environment: Environment) => (environment === 'production' ? 0 : 1)
  return deployments
    .toSorted((a, b) => rank(a.environment) - rank(b.environment) || a.name.localeCompare(b.name))
    .map(({ slug, name, environment, champion_model: { version } }) => ({
      value: slug,
      label: `${withVersion(name, version)} · ${environment}`,
    }))
}
