import { useAnswer } from './client.ts'
import { useUser } from './state.ts'

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
