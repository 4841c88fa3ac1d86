import { Type } from '@sinclair/typebox'
import { Timestamp } from './common.ts'

export const JOB_STATUSES = ['queued', 'running', 'done', 'failed', 'cancelled'] as const

export const JobStatus = Type.Unsafe<(typeof JOB_STATUSES)[number]>(
  Type.String({ enum: [...JOB_STATUSES], description: 'The last three are final' }),
)

export const JobProgress = Type.Object(
  {
    done: Type.Integer({ minimum: 0 }),
    total: Type.Integer({ minimum: 0, description: 'Estimated while the job runs' }),
  },
  { description: 'Applicants; brought up to date every few seconds' },
)

export const Job = Type.Object({
  id: Type.String(),
  kind: Type.String({ description: 'What the job does, such as `replay`' }),
  status: JobStatus,
  progress: JobProgress,
  created_at: Timestamp,
  finished_at: Type.Union([Timestamp, Type.Null()]),
  result: Type.Unknown({
    description: 'Null until the job is done; the operation that started it describes its fields',
  }),
  error: Type.Optional(
    Type.String({
      description:
        'Code of the error of a failed job; of one that the service cancelled, `key_revoked` or `deployment_inactive`',
    }),
  ),
  message: Type.Optional(
    Type.String({ description: 'Why the job failed, or why the service cancelled it' }),
  ),
})
