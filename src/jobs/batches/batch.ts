import { createHmac, randomBytes } from 'node:crypto'
import type { BATCH_FORMATS } from '../../../schemas/batches.ts'
import { Environment } from '../../../schemas/common.ts'
import { idOfDigest } from '../../platform/ids.ts'
import { isObjectKey } from '../../platform/object-store/object-store.ts'
import type { DeploymentState } from '../../scoring/serving.ts'
import type { JobFailure, JobProgress, JobStatus } from '../job.ts'

/** Form of a file, of applicants and of results. */
export type BatchFormat = (typeof BATCH_FORMATS)[number]

/** Kind of the jobs that score files. */
export const BATCH_JOB = 'batch'

/** The key or user that sends a batch; it sees and cancels batches. */
export interface BatchSender {
  readonly teamId: string
  /** A key sees the batches of its environment; null: both. */
  readonly environment: Environment | null
  /** Id of the key or the user. */
  readonly by: string
}

/** The way a file is to be scored. */
export interface BatchOptions {
  readonly format: BatchFormat
  readonly results: BatchFormat
  /** Column or property with the reference of an applicant. */
  readonly idField: string
  readonly strictMode: boolean
  readonly withContributions: boolean
  /** Draws the model of a live split; null: the id of the batch does. */
  readonly routingKey: string | null
  /** Name of a sent file as its sender gave it; absent in batches of earlier versions. */
  readonly fileName?: string | null
}

interface BatchInput {
  /** Below the store. */
  readonly key: string
  readonly bytes: number
  /** Changes with the content: a file that changes meanwhile fails the batch. */
  readonly version: string
  /** True if it was sent to the service, which then removes it with the results. */
  readonly isUpload: boolean
}

/** Progress of the work on a file, after whole chunks. */
export interface BatchPosition {
  /** Bytes that are done; of a Parquet file, rows. */
  readonly offset: number
  /** Lines that are done, the header of a CSV file included; of a Parquet file, rows. */
  readonly line: number
}

interface BatchCounts {
  readonly scored: number
  /** Lines apart, with their codes. */
  readonly errors: number
  readonly warned: number
  /** Values of scored applicants that match no bin of the model that answers, by feature. */
  readonly unmatched: Readonly<Record<string, number>>
}

export interface NewBatch {
  /** That of its job. */
  readonly id: string
  readonly sender: BatchSender
  /** The one state of the deployment that scores the whole file. */
  readonly state: DeploymentState
  readonly options: BatchOptions
  readonly input: BatchInput
  /** Folder of the results, below the store. */
  readonly folder: string
  /** Only a process with this store can do the work. */
  readonly place: string
  readonly requestSeed: string
  readonly createdAt: Date
}

/**
 * Why no process scores a batch at present: none has taken it, or its last run lost the database or
 * the store.
 */
export type BatchWait = 'turn' | 'interruption'

export interface Batch extends NewBatch {
  readonly status: JobStatus
  /** Null while it is scored, and after its end. */
  readonly waitsFor: BatchWait | null
  readonly progress: JobProgress
  readonly finishedAt: Date | null
  readonly failure: JobFailure | null
  readonly position: BatchPosition
  readonly counts: BatchCounts
  /** Number of chunks that are done: each is a part of the results. */
  readonly chunks: number
  /** Numbers of the chunks that have errors. */
  readonly errorChunks: readonly number[]
  /** Checksums of the parts of the results, and of the errors of `errorChunks`. */
  readonly resultSums: readonly number[]
  readonly errorSums: readonly number[]
  /** Bytes of the results and errors that are stored. */
  readonly resultBytes: number
  readonly unknownColumns: UnknownColumns
  /** Request that the next chunk is in the log; null before the first chunk. */
  readonly requestId: string | null
}

/** Columns that no model knows, which are left out. */
export interface UnknownColumns {
  /** The first ones, each cut off at a bound. */
  readonly names: readonly string[]
  /** Number of more. */
  readonly more: number
}

export const NO_UNKNOWN_COLUMNS: UnknownColumns = { names: [], more: 0 }

/** Counts that a chunk adds to a batch. */
export interface BatchStep {
  readonly batchId: string
  /** Number of this chunk: it is stored only in its turn. */
  readonly chunk: number
  /** The chunk is this request in the log. */
  readonly requestId: string
  /** The next chunk will be this request. */
  readonly nextRequestId: string
  readonly position: BatchPosition
  readonly counts: BatchCounts
  /** Checksums of its results, and of its errors if it has any. */
  readonly resultSum: number
  readonly errorSum: number | null
  readonly bytes: number
  readonly unknownColumns: UnknownColumns
}

const NUMBER_DIGITS = 6

/** A stored part of the results or errors of a batch, and what it must be. */
export interface StoredPart {
  readonly batchId: string
  readonly kind: 'results' | 'errors'
  /** From 1. */
  readonly number: number
  readonly key: string
  /** Checksum of its bytes. */
  readonly sum: number | undefined
}

export function resultParts(batch: Batch): StoredPart[] {
  return Array.from({ length: batch.chunks }, (_, chunk) => ({
    batchId: batch.id,
    kind: 'results',
    number: chunk + 1,
    key: resultKey(batch, chunk),
    sum: batch.resultSums[chunk],
  }))
}

export function errorParts(batch: Batch): StoredPart[] {
  return batch.errorChunks.map((chunk, at) => ({
    batchId: batch.id,
    kind: 'errors',
    number: chunk + 1,
    key: errorKey(batch, chunk),
    sum: batch.errorSums[at],
  }))
}

/** The object with the results of a chunk: its name follows from the chunk alone. */
export function resultKey({ folder, options }: Pick<Batch, 'folder' | 'options'>, chunk: number) {
  return `${folder}/results-${formatNumber(chunk)}.${options.results}`
}

/** The object with the errors of a chunk. */
export function errorKey({ folder }: Pick<Batch, 'folder'>, chunk: number): string {
  return `${folder}/errors-${formatNumber(chunk)}.ndjson`
}

function formatNumber(chunk: number): string {
  return String(chunk + 1).padStart(NUMBER_DIGITS, '0')
}

const SEED_BYTES = 32

/** Returns what the request ids of a new batch follow from; it never leaves the database. */
export function newRequestSeed(): string {
  return randomBytes(SEED_BYTES).toString('base64url')
}

/**
 * The request that the next chunk of a batch is in the log.
 *
 * It follows from the row with which the batch was made, the number of the chunk and its place in
 * the file. A chunk that is scored again, also after a failover that lost its commit, has the same
 * request, and so the same results as those that may have been downloaded. Its time is that of the
 * batch, and a millisecond more for each chunk before it: ids of a batch are in the order of its
 * file.
 */
export function requestOfChunk({
  id,
  requestSeed,
  createdAt,
  chunks,
  position,
}: Pick<Batch, 'id' | 'requestSeed' | 'createdAt' | 'chunks' | 'position'>): string {
  const digest = createHmac('sha256', Buffer.from(requestSeed, 'base64url'))
    .update(`${id} ${chunks} ${position.offset}`)
    .digest()
  return idOfDigest('req_', createdAt.getTime() + chunks, digest)
}

/** Folder of uploads and their results, in the folder of a team. */
export const UPLOAD_FOLDER = 'batches'
/** End of the folder with the results of a file, which is beside it. */
const RESULTS_END = /\.job_[0-9a-z]+$/
const ENVIRONMENTS: readonly string[] = Environment.anyOf.map((one) => one.const)

/**
 * Tells whether a caller may have the file of a path scored, in the folder of its team.
 *
 * The folders of the service are nobody's to name: they have uploads and results of both
 * environments. A folder with the name of an environment is for its keys alone. Capitals count as
 * small letters, as some file systems have it.
 *
 * @param environment null: both
 */
export function mayScoreFile(path: string, environment: Environment | null): boolean {
  const parts = path.toLowerCase().split('/')
  const [folder = ''] = parts
  if (folder === UPLOAD_FOLDER || parts.some((part) => RESULTS_END.test(part))) return false
  const isOfOne = parts.length > 1 && ENVIRONMENTS.includes(folder)
  return environment === null || !isOfOne || folder === environment
}

/** Longest name of a folder in common file systems. */
export const NAME_BYTES_MAX = 255
/** The longest name in a folder of results. */
const LONGEST_PART = 'results-000001.parquet'

/** Tells whether a store can have results in this folder. */
export function mayBeFolder(folder: string): boolean {
  const name = folder.slice(folder.lastIndexOf('/') + 1)
  return Buffer.byteLength(name) <= NAME_BYTES_MAX && isObjectKey(`${folder}/${LONGEST_PART}`)
}
