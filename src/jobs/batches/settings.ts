import { parseObjectLocation } from '../../platform/object-store/settings.ts'
import type { VariableReader } from '../../platform/variable-reader.ts'

/** Settings of scoring files, and how much of them. */
export interface BatchConfig {
  /** `file:///directory` or `s3://bucket/prefix`; null: below the data directory. */
  readonly batchStore: string | null
  /** Largest file. */
  readonly batchBytesMax: number
  /** Most applicants of a file, those with errors included. */
  readonly batchRecordsMax: number
  /** Bytes that the files of a team may take: at it new files are refused, and batches stop. */
  readonly batchTeamBytesMax: number
  /** Bytes that stay free on the disks of files and results. */
  readonly batchFreeBytesMin: number
  /** Time for which results are kept. */
  readonly batchKeptMs: number
}

const GIB = 1024 ** 3
const DAY_MS = 86_400_000

/** Reads how files are scored; faults go to the reader. */
export function readBatches(read: VariableReader): BatchConfig {
  const batchStore = read.text('BATCH_STORE')
  if (batchStore !== null && parseObjectLocation(batchStore) === null) {
    read.faults.push('BATCH_STORE must be file:///directory or s3://bucket/prefix')
  }
  return {
    batchStore,
    batchBytesMax: read.integer('BATCH_MAX_BYTES', GIB, 1024, 1024 * GIB),
    batchRecordsMax: read.integer('BATCH_MAX_RECORDS', 10_000_000, 1, 1_000_000_000),
    batchTeamBytesMax: read.integer('BATCH_TEAM_MAX_BYTES', 16 * GIB, 1024, 1024 ** 2 * GIB),
    batchFreeBytesMin: read.integer('BATCH_MIN_FREE_BYTES', GIB, 0, 1024 ** 5 - 1),
    batchKeptMs: DAY_MS * read.integer('BATCH_KEEP_DAYS', 7, 1, 365),
  }
}
