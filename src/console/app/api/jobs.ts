import { useQuery } from '@tanstack/react-query'
import { api, readData } from './client.ts'
import type { Schemas } from './types.ts'

const POLL_MS = 1_000

/** A job, asked again until it ends; nothing is asked without an id. */
export function useJob(id: string | undefined) {
  return useQuery({
    queryKey: ['/v1/jobs/{id}', id],
    queryFn: ({ signal }) =>
      readData(api.GET('/v1/jobs/{id}', { params: { path: { id: id ?? '' } }, signal })),
    enabled: id !== undefined,
    refetchInterval: ({ state }) => (isOpen(state.data) ? POLL_MS : false),
  })
}

/** Tells whether it may still change. */
export function isOpen(job: Pick<Schemas['Job'], 'finished_at'> | undefined): boolean {
  return job !== undefined && job.finished_at === null
}
