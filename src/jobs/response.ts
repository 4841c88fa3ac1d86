import type { Job } from './job.ts'

export function jobFields({
  id,
  kind,
  status,
  progress,
  createdAt,
  finishedAt,
  result,
  failure,
}: Job) {
  return {
    id,
    kind,
    status,
    progress: { done: progress.done, total: progress.total },
    created_at: createdAt.toISOString(),
    finished_at: finishedAt?.toISOString() ?? null,
    result: result ?? null,
    ...(failure !== null && { error: failure.code, message: failure.message }),
  }
}
