import { useQuery } from '@tanstack/react-query'
import { withVersion } from '../ui/names.ts'
import { api, readData } from './client.ts'
import { audits } from './roles.ts'
import { useUser } from './state.ts'

/** Names of the team's objects, by id. */
export type Names = ReadonlyMap<string, string>

const NO_NAMES: Names = new Map([
  ['operator', 'the operator'],
  ['service', 'the service'],
  ['anonymous', 'somebody who was not signed in'],
])

/** Names of all objects, and of people for roles that may see members. */
export function useNames(): Names {
  const { role } = useUser()
  const isAuditor = audits(role)
  const { data = NO_NAMES } = useQuery({
    queryKey: ['/v1', 'names', isAuditor],
    staleTime: 30_000,
    queryFn: ({ signal }) => readNames(isAuditor, signal),
  })
  return data
}

async function readNames(isAuditor: boolean, signal: AbortSignal): Promise<Names> {
  const members = isAuditor
    ? [
        readData(api.GET('/v1/members', { signal })).then(({ members: found }) =>
          found.map(({ id, email }) => [id, email] as const),
        ),
        readData(api.GET('/v1/service-accounts', { signal })).then(({ service_accounts: all }) =>
          all.map(({ id, name }) => [id, name] as const),
        ),
        readData(api.GET('/v1/webhooks', { signal })).then(({ webhooks }) =>
          webhooks.map(({ id, url }) => [id, url] as const),
        ),
      ]
    : []
  const lists = await Promise.all([
    ...members,
    readData(api.GET('/v1/models', { signal })).then(({ models }) =>
      models.map(({ id, name, version }) => [id, withVersion(name, version)] as const),
    ),
    readData(api.GET('/v1/deployments', { signal })).then(({ deployments }) =>
      deployments.map(({ id, name }) => [id, name] as const),
    ),
    readData(api.GET('/v1/keys', { signal })).then(({ keys }) =>
      keys.map(({ id, name }) => [id, name] as const),
    ),
  ])
  return new Map([...NO_NAMES, ...lists.flat()])
}
