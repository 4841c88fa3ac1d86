import { AppError, deploymentNotFound, serviceBusy } from '../../errors.ts'
import type { Caller, IdempotencyClaim } from '../../http/access/caller.ts'
import { type Actor, auditRecord } from '../../identity/audit/record.ts'
import type { Clock } from '../../platform/clock.ts'
import { isId, newId } from '../../platform/ids.ts'
import { isObjectKey } from '../../platform/object-store/object-store.ts'
import type { Page, PageRequest } from '../../platform/paging.ts'
import { TeamLimiter } from '../../platform/team-limiter.ts'
import type { DeploymentState } from '../../scoring/serving.ts'
import { type JobService, OPEN_JOBS_MAX } from '../service.ts'
import {
  type Batch,
  type BatchOptions,
  type BatchSender,
  errorParts,
  mayBeFolder,
  mayScoreFile,
  NAME_BYTES_MAX,
  type NewBatch,
  NO_UNKNOWN_COLUMNS,
  newRequestSeed,
  resultParts,
  type StoredPart,
  UPLOAD_FOLDER,
} from './batch.ts'
import type { DiskRoom } from './disk-room.ts'
import type { BatchFiles } from './files.ts'
import { joinParquet } from './results/parquet-join.ts'
import type { BatchStore } from './store.ts'
import { noRoom, type ReceivedFile, type Uploads } from './uploads.ts'

interface BatchServiceOptions {
  readonly store: BatchStore
  readonly files: BatchFiles
  readonly received: Uploads
  /** Room on the disks with files and results. */
  readonly room: () => Promise<DiskRoom>
  readonly jobs: JobService
  readonly deployments: {
    deploymentState(deploymentId: string): Promise<DeploymentState | null>
  }
  readonly place: () => Promise<string>
  readonly clock: Clock
  readonly bytesMax: number
  /** Bytes that a team may have in the store. */
  readonly teamBytesMax: number
  readonly onAdded: () => void
}

/** A file to score, and how. */
interface BatchOrder {
  readonly deploymentId: string
  readonly options: BatchOptions
}

/** Files that are received at one time by this process, and by one team of it. */
const UPLOADS = { teamMax: 2, max: 8 }
/** Results that are read as Parquet at one time from this process. */
const JOINS_MAX = 4

/** Takes files of applicants, and gives their results. */
export class BatchService {
  readonly bytesMax: number
  private readonly options: BatchServiceOptions
  private readonly uploads = new TeamLimiter(UPLOADS)
  /** Results that are being joined to files of Parquet. */
  private joins = 0

  constructor(options: BatchServiceOptions) {
    this.options = options
    this.bytesMax = options.bytesMax
  }

  /**
   * Receives the body of a request. Whoever gets it calls its `discard` at the end.
   *
   * @throws AppError `deployment_not_found`, `payload_too_large`, `unavailable`
   */
  async receive(
    caller: Caller,
    order: BatchOrder,
    body: AsyncIterable<Uint8Array>,
  ): Promise<ReceivedUpload> {
    const sender = makeSender(caller)
    const release = this.uploads.reserve(sender.teamId, teamUploads)
    try {
      // Before the file comes: it would be received in vain.
      const state = await this.requireDeployment(sender, order.deploymentId)
      await this.requireRoom(sender.teamId)
      const { received, clock, bytesMax } = this.options
      const id = newId('job_', clock.epochMs())
      const file = await received.receive(id, { body, bytesMax })
      const discard = async () => {
        release()
        await file.discard()
      }
      return { id, state, file, options: order.options, discard }
    } catch (error) {
      release()
      throw error
    }
  }

  /**
   * Stores a file that was received, and starts to score it.
   *
   * @param claim the right of the request, if it has one
   * @throws AppError `unavailable`
   */
  async upload(
    caller: Caller,
    upload: ReceivedUpload,
    claim: IdempotencyClaim | null = null,
  ): Promise<Batch> {
    const { files, received } = this.options
    const { id, state, file, options } = upload
    const folder = `${caller.teamId}/${UPLOAD_FOLDER}/${id}`
    const key = `${folder}/input.${options.format}`
    await received.note(id, key)
    const { bytes, version } = await files.add(key, file)
    const input = { key, bytes, version, isUpload: true }
    const order = { id, state, input, folder, options }
    const batch = await this.add({ caller, claim }, order, file.sums)
    if (batch === null) await files.remove(key)
    await received.settle(id)
    if (batch === null) throw tooManyJobs()
    return batch
  }

  /**
   * Starts to score a file of the team's folder in the store.
   *
   * @param path below the folder of the team, with `/` between its parts
   * @param claim the right of the request, if it has one
   * @throws AppError `deployment_not_found`, `invalid_file`, `unavailable`
   */
  async start(
    caller: Caller,
    order: BatchOrder,
    path: string,
    claim: IdempotencyClaim | null = null,
  ): Promise<Batch> {
    const sender = makeSender(caller)
    const key = `${sender.teamId}/${path}`
    if (!isObjectKey(key)) {
      const message =
        'the path must be names with / between them, without .. and control characters'
      throw new AppError('invalid_request', message)
    }
    const { files, clock, bytesMax } = this.options
    const id = newId('job_', clock.epochMs())
    const folder = `${key}.${id}`
    if (!mayBeFolder(folder)) {
      const message = `the path is too long: its last part may have ${NAME_BYTES_MAX - id.length - 1} bytes, since the results are beside the file under a longer name`
      throw new AppError('invalid_request', message)
    }
    const state = await this.requireDeployment(sender, order.deploymentId)
    const found = mayScoreFile(path, sender.environment) ? await files.head(key) : null
    if (found === null) {
      throw new AppError('invalid_file', 'the folder of the team has no file with this path')
    }
    if (found.bytes > bytesMax) {
      const message = `the file is larger than the ${bytesMax} bytes that it may have: split it`
      throw new AppError('invalid_file', message)
    }
    await this.requireRoom(sender.teamId)
    const input = { key, bytes: found.bytes, version: found.version, isUpload: false }
    const added = { id, state, input, folder, options: order.options }
    const batch = await this.add({ caller, claim }, added)
    if (batch === null) throw tooManyJobs()
    return batch
  }

  list(caller: Caller, page: PageRequest): Promise<Page<Batch>> {
    const { teamId, environment } = makeSender(caller)
    return this.options.store.ofTeam(teamId, environment, page)
  }

  /** @throws AppError `batch_not_found` */
  async get(caller: Caller, batchId: string): Promise<Batch> {
    const { teamId, environment } = makeSender(caller)
    const found = isId(batchId, 'job_') ? await this.options.store.find(batchId) : null
    const isOwn = environment === null || environment === found?.state.environment
    if (found?.sender.teamId === teamId && isOwn) return found
    throw new AppError('batch_not_found', 'the team has no such batch, or its results were removed')
  }

  /**
   * Ends a batch that waits or runs; what is scored by then stays in the log and in the results.
   *
   * @throws AppError `batch_not_found`
   */
  async cancel(caller: Caller, batchId: string): Promise<Batch> {
    await this.get(caller, batchId)
    await this.options.jobs.cancel(makeActor(caller), batchId)
    return this.get(caller, batchId)
  }

  /**
   * The results of a batch that has ended, as one file.
   *
   * @throws AppError `batch_not_found`, `batch_not_ended`, `unavailable`
   */
  async results(caller: Caller, batchId: string): Promise<ResultFile> {
    const batch = await this.ended(caller, batchId)
    const parts = resultParts(batch)
    const { results: format } = batch.options
    const { files } = this.options
    if (format !== 'parquet') return { format, chunks: this.parts(parts) }
    const joined = joinParquet(parts, (part) => files.part(part))
    return { format, chunks: this.oneOfFew(joined) }
  }

  /** The lines of a batch that were not scored, as lines of JSON; throws as `results` does. */
  async errors(caller: Caller, batchId: string): Promise<ResultFile> {
    const batch = await this.ended(caller, batchId)
    return { format: 'ndjson', chunks: this.parts(errorParts(batch)) }
  }

  private async ended(caller: Caller, batchId: string): Promise<Batch> {
    const batch = await this.get(caller, batchId)
    if (batch.finishedAt === null) {
      throw new AppError('batch_not_ended', 'the batch waits or runs: its results come at its end')
    }
    if (batch.place !== (await this.options.place())) {
      const message =
        'another replica has the files of this batch: set BATCH_STORE for all replicas'
      throw new AppError('unavailable', message)
    }
    return batch
  }

  private async *parts(parts: readonly StoredPart[]): AsyncGenerator<Buffer> {
    for (const part of parts) yield* this.options.files.portions(part)
  }

  /** A file that is joined has the metadata of all of its parts in memory. */
  private async *oneOfFew(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    if (this.joins >= JOINS_MAX) {
      throw serviceBusy()
    }
    this.joins++
    try {
      yield* chunks
    } finally {
      this.joins--
    }
  }

  /** @returns null if the team has too many open jobs: then nothing is added */
  private async add(
    by: Orderer,
    order: PlacedOrder,
    inputSums: readonly number[] = [],
  ): Promise<Batch | null> {
    const { store, place, clock, onAdded } = this.options
    const { id, state, input, options } = order
    const { deploymentId, cacheVersion, championModelId } = state
    const nowMs = clock.epochMs()
    const sender = makeSender(by.caller)
    const batch = {
      ...order,
      sender,
      place: await place(),
      requestSeed: newRequestSeed(),
      createdAt: new Date(nowMs),
    }
    const after = {
      deployment_id: deploymentId,
      cache_version: cacheVersion,
      champion_model_id: championModelId,
      format: options.format,
      input_bytes: input.bytes,
      is_upload: input.isUpload,
    }
    const change = { action: 'batch.create', subject: id, after } as const
    const audit = auditRecord(makeActor(by.caller, by.claim), change, nowMs)
    const isAdded = await store.add(batch, audit, inputSums).catch(async (error: unknown) => {
      // The commit may have been made, and its answer lost. Upkeep settles what is not known now.
      if ((await store.find(id).catch(() => null)) === null) throw error
      return true
    })
    if (!isAdded) return null
    onAdded()
    // Not read: a failure to read it would look as if nothing had been added.
    return newBatchAsShown(batch)
  }

  /** @throws AppError `deployment_not_found` for one that the caller may not score with */
  private async requireDeployment(
    { teamId, environment }: BatchSender,
    deploymentId: string,
  ): Promise<DeploymentState> {
    const { deployments } = this.options
    const state = isId(deploymentId, 'dep_')
      ? await deployments.deploymentState(deploymentId)
      : null
    const isVisible =
      state?.isActive &&
      state.teamId === teamId &&
      (environment === null || environment === state.environment)
    if (state === null || !isVisible) throw deploymentNotFound()
    return state
  }

  private async requireRoom(teamId: string): Promise<void> {
    const { store, room, teamBytesMax } = this.options
    if (!(await (await room()).has(0))) throw noRoom()
    if ((await store.storedBytes(teamId)) < teamBytesMax) return
    const message = `the files of the team's batches take ${teamBytesMax} bytes or more: wait until old ones are removed`
    throw new AppError('unavailable', message)
  }
}

function teamUploads(): AppError {
  const message = `the team sends ${UPLOADS.teamMax} files: try again when one of them is received`
  return new AppError('unavailable', message)
}

/** A file that was received, and how it is to be scored. */
interface ReceivedUpload {
  readonly id: string
  readonly state: DeploymentState
  readonly file: ReceivedFile
  readonly options: BatchOptions
  /** Removes it from the local disk, and gives back its place; it may be repeated. */
  discard(): Promise<void>
}

/** The sender of a batch, and the right of the request. */
interface Orderer {
  readonly caller: Caller
  readonly claim: IdempotencyClaim | null
}

type PlacedOrder = Omit<NewBatch, 'sender' | 'place' | 'requestSeed' | 'createdAt'>

/** A file in pieces. */
export interface ResultFile {
  readonly format: BatchOptions['results']
  readonly chunks: AsyncIterable<Uint8Array>
}

function makeSender(caller: Caller): BatchSender {
  const { teamId } = caller
  return caller.kind === 'key'
    ? { teamId, environment: caller.environment, by: caller.keyId }
    : { teamId, environment: null, by: caller.userId }
}

function makeActor(caller: Caller, claim: IdempotencyClaim | null = null): Actor {
  const { teamId } = caller
  const userId = caller.kind === 'key' ? caller.keyId : caller.userId
  return { userId, teamId, ...(claim !== null && { claim }) }
}

function newBatchAsShown(batch: NewBatch): Batch {
  return {
    ...batch,
    status: 'queued',
    waitsFor: null,
    progress: { done: 0, total: 0 },
    finishedAt: null,
    failure: null,
    position: { offset: 0, line: 0 },
    counts: { scored: 0, errors: 0, warned: 0, unmatched: {} },
    chunks: 0,
    errorChunks: [],
    resultSums: [],
    errorSums: [],
    resultBytes: 0,
    unknownColumns: NO_UNKNOWN_COLUMNS,
    requestId: null,
  }
}

function tooManyJobs(): AppError {
  const message = `the team has ${OPEN_JOBS_MAX} jobs that wait or run: wait for one, or cancel one`
  return new AppError('unavailable', message)
}
