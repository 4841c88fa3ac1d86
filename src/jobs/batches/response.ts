import type { Batch, BatchWait } from './batch.ts'

const WAITS: Readonly<Record<BatchWait, string>> = {
  // Whether a batch of another team runs is not said.
  turn: 'it waits for its turn: a process scores one file at a time, and without BATCH_STORE only the replica that received the file can',
  interruption: 'it waits until the database and the store of the files answer again',
}

export function batchFields(batch: Batch) {
  const { id, status, waitsFor, state, options, input, counts, progress, failure } = batch
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
      name: options.fileName ?? null,
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
    unmatched: unmatchedFeatures(batch).slice(0, UNMATCHED_LISTED_MAX),
    warnings: batchWarnings(batch),
    unknown_columns: [...batch.unknownColumns.names],
    more_unknown_columns: batch.unknownColumns.more,
    progress: { done: counts.scored + counts.errors, total: computeTotal(batch, progress.total) },
    created_by: batch.sender.by,
    created_at: batch.createdAt.toISOString(),
    finished_at: batch.finishedAt?.toISOString() ?? null,
    ...(waitsFor !== null && { message: WAITS[waitsFor] }),
    ...(failure !== null && { error: failure.code, message: failure.message }),
  }
}

interface UnmatchedFeature {
  readonly feature: string
  readonly values: number
}

const UNMATCHED_LISTED_MAX = 100
/** More than this share of a feature's values in no bin is likely a mistake in the file. */
const UNMATCHED_SHARE_MAX = 0.01

/** Features with values that match no bin, the most first. */
function unmatchedFeatures({ counts }: Batch): UnmatchedFeature[] {
  const features = Object.entries(counts.unmatched).map(([feature, values]) => ({
    feature,
    values,
  }))
  return features.sort((a, b) => b.values - a.values || (a.feature < b.feature ? -1 : 1))
}

/** Warns of features of which more than one value in a hundred matches no bin. */
export function batchWarnings(batch: Batch): { path: string; message: string }[] {
  const { scored } = batch.counts
  const suspect = unmatchedFeatures(batch).filter(
    ({ values }) => values > UNMATCHED_SHARE_MAX * scored,
  )
  return suspect.slice(0, UNMATCHED_LISTED_MAX).map(({ feature, values }) => ({
    path: feature,
    message:
      `${values} of ${scored} values match no bin: compare how the file writes them with the bins ` +
      'of the model',
  }))
}

/** Exact once it is over; the job brings the estimate up to date every few seconds. */
function computeTotal({ status, counts }: Batch, estimated: number): number {
  const done = counts.scored + counts.errors
  return status === 'done' ? done : Math.max(done, estimated)
}
