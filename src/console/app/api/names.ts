import { useQuery } from '@tanstack/react-query'
import { withVersion } from '../ui/names.ts'
import { read, useAnswer } from './client.ts'
import { useUser } from './state.ts'

export type Names = ReadonlyMap<string, string>

const NO_NAMES: Names = new Map([
  ['operator', 'the operator'],
  ['service', 'the service'],
  ['anonymous', 'somebody who was not signed in'],
])

/** Names of all objects, and of people for roles that may see members. */
export function useNames(): Names {
  const { mayAudit: isAuditor } = useUser()
  const { data = NO_NAMES } = useQuery({
    queryKey: ['/v1', 'names', isAuditor],
    staleTime: 30_000,
    queryFn: ({ signal }) => readNames(isAuditor, signal),
  })
  return data
}

async function readNames(isAuditor: boolean, signal: AbortSignal): Promise<Names> {
  const [{ models }, { deployments }, { keys }, members, accounts, hooks] = await Promise.all([
    read('/v1/models', {}, signal),
    read('/v1/deployments', {}, signal),
    read('/v1/keys', {}, signal),
    isAuditor ? read('/v1/members', {}, signal) : { members: [] },
    isAuditor ? read('/v1/service-accounts', {}, signal) : { service_accounts: [] },
    isAuditor ? read('/v1/webhooks', {}, signal) : { webhooks: [] },
  ])
  const named = ({ id, name }: { id: string; name: string }) => [id, name] as const
  return new Map([
    ...NO_NAMES,
    ...members.members.map(({ id, email }) => [id, email] as const),
    ...accounts.service_accounts.map(named),
    ...hooks.webhooks.map(({ id, url }) => [id, url] as const),
    ...models.map(({ id, name, version }) => [id, withVersion(name, version)] as const),
    ...[...deployments, ...keys].map(named),
  ])
}

export function useMembers() {
  const { mayAudit } = useUser()
  return useAnswer('/v1/members', {}, { enabled: mayAudit, select: ({ members }) => members })
}

/** Addresses of members by their ids, for roles that may see members; else the ids. */
export function useMemberNames(): (id: string | null) => string {
  const { userId } = useUser()
  const { data } = useMembers()
  const names = new Map(data?.map(({ id, email }) => [id, email]))
  return (id) => {
    if (id === null) return '–'
    return names.get(id) ?? (id === userId ? 'you' : id)
  }
}
