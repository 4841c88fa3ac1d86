import type { Batch } from './batch.ts'

/** A batch as the API shows it. */
export function batchFields(batch: Batch) {
  const { id, status, state, options, input, counts, progress, failure } = batch
  const path = input.key.slice(batch.sender.teamId.length + 1)
  return {
    id,
    status,
    deployment_id: state.deploymentId,
    environment: state.environment,
    cache_version: state.cacheVersion,
    champion_model_id: state.championModelId,
    input: {
      format: options.format,
      bytes: input.bytes,
      path: input.isUpload ? null : path,
    },
    results: {
      format: options.results,
      parts: batch.chunks,
      bytes: batch.resultBytes,
      path: input.isUpload ? null : batch.folder.slice(batch.sender.teamId.length + 1),
    },
    id_field: options.idField,
    strict_mode: options.strictMode || state.strictMode,
    include_contributions: options.withContributions,
    routing_key: options.routingKey,
    counts: { scored: counts.scored, errors: counts.errors, warned: counts.warned },
    unknown_columns: [...batch.unknownColumns.names],
    more_unknown_columns: batch.unknownColumns.more,
    progress: { done: counts.scored + counts.errors, total: totalOf(batch, progress.total) },
    created_by: batch.sender.by,
    created_at: batch.createdAt.toISOString(),
    finished_at: batch.finishedAt?.toISOString() ?? null,
    ...(failure !== null && { error: failure.code, message: failure.message }),
  }
}

/** Exact once it is over; the job brings the estimate up to date every few seconds. */
function totalOf({ status, counts }: Batch, estimated: number): number {
  const done = counts.scored + counts.errors
  return status === 'done' ? done : Math.max(done, estimated)
}
