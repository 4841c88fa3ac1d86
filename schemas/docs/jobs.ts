import { EXAMPLE_IDS, EXAMPLE_TIME } from './examples.ts'
import type { OperationDoc } from './operation-doc.ts'

/** A job that has just been started. */
export const queuedJob = (kind: string) => ({
  id: EXAMPLE_IDS.job,
  kind,
  status: 'queued',
  progress: { done: 0, total: 0 },
  created_at: EXAMPLE_TIME,
  finished_at: null,
  result: null,
})

const JOB_ID = { id: { description: 'Id of the job', example: EXAMPLE_IDS.job } }

export const JOB_DOCS = {
  'jobs.get': {
    tag: 'Jobs',
    summary: 'Show a job',
    description:
      'State, progress and result of a job. A job is run by any replica, and starts again on another one when its replica dies. It is kept for a week after its end. The job of a batch asks for the role that the batch asks for.',
    params: JOB_ID,
    errors: ['job_not_found'],
    success: { description: 'The job', example: queuedJob('replay') },
  },
  'jobs.cancel': {
    tag: 'Jobs',
    summary: 'Cancel a job',
    description:
      'Ends a job that waits or runs; its work stops within a few seconds. A job that has ended stays as it is. The job of a batch asks for the role that the batch asks for.',
    params: JOB_ID,
    errors: ['job_not_found'],
    success: {
      description: 'The job as it is now',
      example: { ...queuedJob('replay'), status: 'cancelled', finished_at: EXAMPLE_TIME },
    },
  },
} as const satisfies Record<string, OperationDoc>
