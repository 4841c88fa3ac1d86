import { useAnswer } from './client.ts'
import type { Schemas } from './types.ts'

const POLL_MS = 1_000

/** A job, asked again until it ends. */
export function useJob(id: string) {
  return useAnswer(
    '/v1/jobs/{id}',
    { path: { id } },
    { refetchInterval: ({ state }) => (isOpen(state.data) ? POLL_MS : false) },
  )
}

export function isOpen(job: Pick<Schemas['Job'], 'finished_at'> | undefined): boolean {
  return job !== undefined && job.finished_at === null
}
