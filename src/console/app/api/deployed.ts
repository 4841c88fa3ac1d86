import { useQuery } from '@tanstack/react-query'
import { withVersion } from '../ui/names.ts'
import { read } from './client.ts'
import type { Environment, Schemas } from './types.ts'

type Deployed = Schemas['OverviewDeployment']

const FRESH_MS = 60_000
const REFRESH_MS = 60_000

async function* readOverview(signal: AbortSignal): AsyncGenerator<Deployed> {
  let cursor: string | undefined
  do {
    const page = await read('/v1/overview', { query: { cursor } }, signal)
    yield* page.deployments
    cursor = page.next_cursor
  } while (cursor !== undefined)
}

export function useDeployed() {
  return useQuery({
    queryKey: ['/v1/overview', 'all'],
    staleTime: FRESH_MS,
    queryFn: async ({ signal }) => {
      const found: Deployed[] = []
      for await (const one of readOverview(signal)) found.push(one)
      return found
    },
  })
}

/** A deployment as the overview judges it; null while the overview does not have it. */
export function useOverviewRow(slug: string) {
  return useQuery({
    queryKey: ['/v1/overview', slug],
    queryFn: async ({ signal }) => {
      for await (const one of readOverview(signal)) if (one.slug === slug) return one
      return null
    },
    refetchInterval: REFRESH_MS,
  })
}

/** Which environment a deployment is of, and its name, by its id; undefined while unknown. */
export function useDeploymentById() {
  const { data = [] } = useDeployed()
  const byId = new Map(data.map((one) => [one.id, one]))
  return (id: string): Deployed | undefined => byId.get(id)
}

/** Deployments for a choice: production first, and never without the environment. */
export function deploymentChoices(
  deployments: readonly Deployed[],
): { value: string; label: string }[] {
  const rank = (environment: Environment) => (environment === 'production' ? 0 : 1)
  return deployments
    .toSorted((a, b) => rank(a.environment) - rank(b.environment) || a.name.localeCompare(b.name))
    .map(({ slug, name, environment, champion_model: { version } }) => ({
      value: slug,
      label: `${withVersion(name, version)} · ${environment}`,
    }))
}
