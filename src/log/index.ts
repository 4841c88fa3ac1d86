/*
 * The door of the log: its types, and what works on values alone. It loads no driver and no package,
 * because threads load it whenever they start. What needs more has doors of its own: `wiring.ts` for
 * the service, `tools.ts` for the command line, and `database.ts` for stores and threads that read
 * tables of the log. One door for all of it would take a thread for batches 0.2 s longer to start.
 */

export type { ArchivePlace } from './archive/archive-bytes.ts'
export type { ArchiveAdoption } from './archive/identity.ts'
export type { OpenArchive } from './archive/open.ts'
export type { OpenBlock } from './blocks/block-decoder.ts'
export type { BlockRow } from './blocks/block-rows.ts'
export type { BlockReader } from './blocks/block-store.ts'
export { readSums } from './blocks/block-sums.ts'
export type { NameHasher } from './blocks/columns.ts'
export type { Damage, DamagedBlocks } from './blocks/damaged-block.ts'
export { type DrainedBlock, encodeByHour } from './blocks/encode-blocks.ts'
export { deploymentHash } from './blocks/hashes.ts'
export type { CountedResults, FlatCounts } from './blocks/result-counts.ts'
export type { StoredBlock } from './blocks/stored-block.ts'
export type { Drain } from './drain/drain.ts'
export type { SetAside } from './drain/set-aside.ts'
export { type Erases, withoutReferences } from './erasure/erased-record.ts'
export { hashOfReference } from './erasure/erasure-list.ts'
export type { OpenScoreLog } from './open.ts'
export {
  CheckpointSigner,
  formatFactsOrigin,
  formatOrigin,
  type TreeState,
} from './proof/checkpoint.ts'
export type { ProofService } from './proof/service.ts'
export type { VerifyReport } from './proof/verify.ts'
export {
  type ApplicantReader,
  type CountsReader,
  type Failures,
  formatGroupName,
  type PartReader,
  type ReaderOf,
} from './reading/applicant-readers.ts'
export {
  type ApplicantScan,
  type Dedupe,
  REFERENCES_MAX,
  type SharedScan,
  scanApplicants,
  scanTogether,
} from './reading/applicant-scan.ts'
export {
  type CellColumns,
  type CellModel,
  cellColumnsOfBlock,
  type LoggedResults,
} from './reading/cell-columns.ts'
export type { ScannedColumns, ScannedModel } from './reading/columns.ts'
export { erasureFields } from './reading/erasure/service.ts'
export type { LogExportQuery } from './reading/export/service.ts'
export type { PickedRequests, ScanQuery, UnreadBlock } from './reading/log-query.ts'
export type { LogReader } from './reading/log-reader.ts'
export { type Card, type FeatureOutcome, loggedFeature } from './reading/logged-feature.ts'
export type { LogArchive, OpenLogReader } from './reading/open-reader.ts'
export { TooManyReferencesError } from './reading/reference-set.ts'
export { ScanQueue, untilAborted } from './reading/scan-queue.ts'
export { findBin } from './reading/score-text.ts'
export type { ScorePage, ScoreReadingService } from './reading/service.ts'
export type { CellModels, StoredCard, StoredModel, StoredModels } from './reading/stored-models.ts'
export { mixed, TextHash } from './reading/text-hash.ts'
export type { LoggedRequest, LoggedResult } from './record/logged-request.ts'
export type { ModelSource, ModelsById } from './record/model-source.ts'
export { PreparedHead } from './record/prepared-head.ts'
export {
  ModelParts,
  type RecordV4,
  readHeadV4,
  readRowsV4,
  type ScoreKey,
  WARNINGS_MAX,
} from './record/record-v4.ts'
export { RecordBytes, RecordWriter, type ResponseFacts } from './record/record-writer.ts'
export type { Counts } from './rollups/buckets.ts'
export {
  findLatencyBucket,
  labelledScoreBuckets,
  latencyPercentileMs,
} from './rollups/buckets.ts'
export { readMoment, readTimeRange, requireOrder } from './rollups/moment.ts'
export type { RollupRow } from './rollups/rollup.ts'
export {
  addRequest,
  latencyShareMs,
  makeRollup,
  mergedRollup,
  type Rollup,
} from './rollups/rollup.ts'
export {
  coverRange,
  SPAN_MS,
  type Span,
  type SpanRange,
  spanStart,
  type TimeRange,
} from './rollups/spans.ts'
export type {
  Durability,
  LoggedFacts,
  OnOutcome,
  ResultsWriter,
  Score,
  Scored,
  ScoreLog,
} from './score-log.ts'
export { FRAME_HEADER_BYTES } from './spool/frames.ts'
export type { SpoolReader } from './spool/reader.ts'
