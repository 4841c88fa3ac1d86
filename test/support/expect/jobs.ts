import { setTimeout as delay } from 'node:timers/promises'
import type { Team } from '../start/team.ts'

export interface JobAnswer {
  readonly id: string
  readonly status: string
  readonly progress: { readonly done: number; readonly total: number }
  readonly finished_at: string | null
  // Each kind of job has other fields; the tests know them.
  // biome-ignore lint/suspicious/noExplicitAny: parsed JSON of an answer
  readonly result: any
  readonly error?: string
  readonly message?: string
}

const WAIT_MS_MAX = 200_000
const POLL_MS = 30

/** The job once it has ended. */
export async function endOfJob(team: Team, jobId: string): Promise<JobAnswer> {
  const endMs = performance.now() + WAIT_MS_MAX
  for (;;) {
    const job: JobAnswer = await team.done('GET', `/v1/jobs/${jobId}`)
    if (job.finished_at !== null) return job
    if (performance.now() > endMs) throw new Error(`the job is still ${job.status}`)
    await delay(POLL_MS)
  }
}
