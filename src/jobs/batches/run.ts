import { setTimeout as delay } from 'node:timers/promises'
import { AppError } from '../../errors.ts'
import { auditRecord, SERVICE } from '../../identity/audit/record.ts'
import { ErasuresMovedError } from '../../log/database.ts'
import { free } from '../../platform/bytes/free.ts'
import type { Clock } from '../../platform/clock.ts'
import { timeOfId } from '../../platform/ids.ts'
import type { ModelSource, StoredSpec } from '../../scoring/make-serving.ts'
import {
  type JobHandler,
  type JobProgress,
  type JobRun,
  JobStopped,
  OperatorError,
  type StopCode,
} from '../job.ts'
import { type Batch, type BatchStep, errorKey, requestOfChunk, resultKey } from './batch.ts'
import type { DiskRoom } from './disk-room.ts'
import type { BatchFiles } from './files.ts'
import { invalidFile, quoted } from './input/record.ts'
import type { ErasedReference, ScoredPortion } from './process-messages.ts'
import { batchWarnings } from './response.ts'
import { canJoin } from './results/parquet-join.ts'
import { ProcessEndedError, ScoringProcess } from './scoring-process.ts'
import type { BatchStore } from './store.ts'

interface BatchRunnerOptions {
  readonly store: BatchStore
  readonly files: BatchFiles
  readonly models: ModelSource
  readonly clock: Clock
  /** Room on the disks with files and results. */
  readonly room: () => Promise<DiskRoom>
  /** Most applicants of a file. */
  readonly recordsMax: number
  /** Bytes that a team may have in the store. */
  readonly teamBytesMax: number
  /** Tells whether requests wait: the next chunk then waits, too. */
  readonly isBusy: () => boolean
}

const STOPPED: Readonly<Record<StopCode, string>> = {
  key_revoked:
    'the key or service account that sent the file was revoked: send it with another one',
  deployment_inactive: 'the deployment was switched off: send the file again when it is on',
}

const NO_ROOM =
  'the disk of the store has no room for more results: ask the operator for room, then score the file again'
const BUSY_PAUSE_MS = 50
/** A batch goes on under steady load, if slowly. */
const BUSY_PAUSES_MAX = 20

/**
 * Runs the jobs that score files.
 *
 * Each chunk passes three steps: it is scored in a process of its own, its parts are written under
 * names that follow from its number, and one transaction puts it into the score log and moves the
 * batch to the next chunk. A run that dies leaves at most one chunk to be repeated, which has the
 * same request id and therefore the same parts, and is in the log once: the transaction expects the
 * number and the request. While one chunk is stored, the next one is scored.
 */
export class BatchRunner {
  private readonly options: BatchRunnerOptions

  constructor(options: BatchRunnerOptions) {
    this.options = options
  }

  readonly run: JobHandler = async (input, run) => {
    // Written with the job.
    const { batch_id: batchId } = input as { readonly batch_id: string }
    /** The chunk at which the process has ended; null before it did. */
    let endedAt: number | null = null
    for (;;) {
      const batch = await this.find(batchId)
      try {
        return await this.runFrom(batch, run)
      } catch (error) {
        if (!(error instanceof ProcessEndedError)) throw error
        // What the file ends it ends again, at the same chunk.
        const { chunks } = await this.find(batchId)
        if (chunks === endedAt) throw error
        endedAt = chunks
      }
    }
  }

  private async find(batchId: string): Promise<Batch> {
    const batch = await this.options.store.read(batchId)
    if (batch === null) throw new AppError('batch_not_found', 'the batch was removed')
    return batch
  }

  /** Scores what is left of a batch, in a process of its own. */
  private async runFrom(batch: Batch, run: JobRun): Promise<object> {
    const { files, store } = this.options
    const { id: batchId, input: file, state, sender, options, position, chunks } = batch
    const scorer = new ScoringProcess({
      task: {
        batchId,
        by: sender.by,
        state,
        specs: await this.listSpecs(batch),
        options,
        fileBytes: file.bytes,
        position,
        isAtStart: chunks === 0,
      },
      read: file.isUpload
        ? files.checkedReader(batch, await store.inputSums(batchId))
        : files.reader(file.key, file.version),
      fileName: formatName(batch),
    })
    const handOn = scorer.erase.bind(scorer)
    const erasures = new RunErasures(store, sender.teamId, handOn)
    try {
      await erasures.load()
      return await this.scoreAll(batch, { scorer, erasures, signal: run.signal }, run)
    } finally {
      await scorer.close()
    }
  }

  private async scoreAll(batch: Batch, by: RunParts, run: JobRun): Promise<object> {
    run.report(makeProgress(batch, null))
    let now = batch
    let next = scored(by.scorer, batch.requestId ?? requestOfChunk(batch))
    for (;;) {
      const chunk = await untilAborted(next, run.signal)
      if (chunk === null) return makeResult(now)
      const { position } = chunk
      const nextRequestId = requestOfChunk({ ...now, chunks: now.chunks + 1, position })
      await this.giveWay()
      next = scored(by.scorer, nextRequestId)
      now = await this.store(now, { chunk, nextRequestId, by })
      run.report(makeProgress(now, chunk.total))
    }
  }

  /** @throws AppError `invalid_file`, `limit_reached`, `unavailable` */
  private async store(
    batch: Batch,
    {
      chunk,
      nextRequestId,
      by: { scorer, erasures, signal },
    }: {
      readonly chunk: ScoredPortion
      readonly nextRequestId: string
      readonly by: RunParts
    },
  ): Promise<Batch> {
    const { files, store } = this.options
    const { requestId, results, errors } = chunk
    const hasErrors = errors.length > 0
    await this.refuseRevoked(batch)
    await this.checkBounds(batch, chunk)
    await files.write(resultKey(batch, batch.chunks), results)
    if (hasErrors) await files.write(errorKey(batch, batch.chunks), errors)
    const counts = {
      scored: batch.counts.scored + chunk.scored,
      errors: batch.counts.errors + chunk.faulty,
      warned: batch.counts.warned + chunk.warned,
      unmatched: added(batch.counts.unmatched, chunk.unmatched),
    }
    const step: BatchStep = {
      batchId: batch.id,
      chunk: batch.chunks,
      requestId,
      nextRequestId,
      position: chunk.position,
      counts,
      resultSum: chunk.resultSum,
      errorSum: hasErrors ? chunk.errorSum : null,
      bytes: results.length + errors.length,
      unknownColumns: chunk.unknownColumns,
    }
    for (;;) {
      try {
        const { version } = erasures
        const blocks = await untilAborted(scorer.makeBlocks(chunk), signal)
        if (await store.commit(step, { blocks, erasures: version })) break
        // Another run has it, or nobody shall: that one, or the cancellation, decides.
        throw new AppError('unavailable', 'the batch was cancelled, or another run goes on with it')
      } catch (error) {
        if (!(error instanceof ErasuresMovedError)) throw error
        await erasures.load()
      }
    }
    free(results)
    free(errors)
    return {
      ...batch,
      counts,
      position: chunk.position,
      chunks: batch.chunks + 1,
      resultBytes: batch.resultBytes + step.bytes,
      unknownColumns: chunk.unknownColumns,
    }
  }

  /**
   * Ends a batch whose key was revoked, or whose deployment was switched off, before a chunk is
   * stored: what is stored by then stays.
   *
   * @throws JobStopped
   */
  private async refuseRevoked({ id, sender: { teamId } }: Batch): Promise<void> {
    const { store, clock } = this.options
    const code = await store.stopCode(id)
    if (code === null) return
    const message = STOPPED[code]
    const change = { action: 'batch.cancel', subject: id, reason: message } as const
    throw new JobStopped(
      { code, message },
      auditRecord({ userId: SERVICE, teamId }, change, clock.epochMs()),
    )
  }

  /** Before a chunk is stored: what is stored by then stays. */
  private async checkBounds(batch: Batch, chunk: ScoredPortion): Promise<void> {
    const { store, room, recordsMax, teamBytesMax } = this.options
    const { counts, sender } = batch
    const done = counts.scored + counts.errors + chunk.scored + chunk.faulty
    if (Math.max(done, chunk.total ?? 0) > recordsMax) {
      throw invalidFile(`the file has more than ${recordsMax} applicants: split it`)
    }
    if (batch.options.results === 'parquet') checkParts(batch, chunk)
    const bytes = chunk.results.length + chunk.errors.length
    const disks = await room()
    if (!(await disks.has(bytes))) {
      throw new OperatorError('limit_reached', NO_ROOM)
    }
    if ((await store.storedBytes(sender.teamId)) + bytes <= teamBytesMax) return
    throw new AppError(
      'limit_reached',
      `the files and results of the team would take more than ${teamBytesMax} bytes: wait until old ones are removed, or ask for results without contributions`,
    )
  }

  private async giveWay(): Promise<void> {
    for (let pause = 0; pause < BUSY_PAUSES_MAX && this.options.isBusy(); pause++) {
      await delay(BUSY_PAUSE_MS, undefined, { ref: false })
    }
  }

  private async listSpecs({ state }: Batch): Promise<Map<string, StoredSpec>> {
    const ids = [state.championModelId, ...state.challengers.map(({ modelId }) => modelId)]
    const specs = new Map<string, StoredSpec>()
    for (const id of ids) {
      const spec = await this.options.models.readSpec(id)
      if (spec !== null) specs.set(id, spec)
    }
    return specs
  }
}

/** The scorer of the chunks of a run, what it has to leave out, and when it ends early. */
interface RunParts {
  readonly scorer: ScoringProcess
  readonly erasures: RunErasures
  readonly signal: AbortSignal
}

function added(
  counts: Readonly<Record<string, number>>,
  more: Readonly<Record<string, number>>,
): Record<string, number> {
  // A feature may be called like a property of every object.
  const sums = new Map(Object.entries(counts))
  for (const [name, count] of Object.entries(more)) sums.set(name, (sums.get(name) ?? 0) + count)
  return Object.fromEntries(sums)
}

/** The next chunk; its failure is thrown where it is awaited. */
function scored(scorer: ScoringProcess, requestId: string): Promise<ScoredPortion | null> {
  // The time of a chunk is that of its request: a repetition writes the same parts.
  const next = scorer.next(requestId, timeOfId(requestId) ?? 0)
  next.catch(() => undefined)
  return next
}

async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  const aborted = Promise.withResolvers<never>()
  const onAbort = () => aborted.reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([work, aborted.promise])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/** Applicants; how many there are in all follows from the part of the file that is done. */
function makeProgress(
  { counts, position, input, options, progress }: Batch,
  total: number | null,
): JobProgress {
  const done = counts.scored + counts.errors
  const { offset } = position
  if (total !== null) return { done, total }
  // The offset of a Parquet file counts rows, and its length says nothing of them. A run before may
  // have noted how many there are.
  if (offset === 0 || options.format === 'parquet') return { done, total: progress.total }
  return { done, total: Math.max(done, Math.round((done * input.bytes) / offset)) }
}

/**
 * Results as Parquet are one file for a download, whose metadata have a bound.
 *
 * @throws AppError `limit_reached`
 */
function checkParts({ chunks }: Batch, { results, total, scored, faulty }: ScoredPortion): void {
  const wanted = total === null ? 0 : Math.ceil(total / Math.max(1, scored + faulty))
  if (canJoin(results, Math.max(chunks + 1, wanted))) return
  throw new AppError(
    'limit_reached',
    'the results would have too many parts and columns for one file of Parquet: ask for CSV or NDJSON, or split the file',
  )
}

/** As errors call the file. */
function formatName({ input, sender }: Batch): string {
  if (input.isUpload) return 'the file that was sent'
  return `the file ${quoted(input.key.slice(sender.teamId.length + 1))}`
}

function makeResult(batch: Batch): object {
  const { scored, errors, warned } = batch.counts
  return { scored, errors, warned, parts: batch.chunks, warnings: batchWarnings(batch) }
}

type Erasures = Pick<BatchStore, 'newestErasure' | 'erasedAfter'>
/** Erasures that are handed on at one time: more would hold up requests. */
const PORTION = 1_000

/**
 * The erasures that the process of a run knows. They go to it before its first chunk, and again
 * when a commit finds that there are more. The service compares numbers, and keeps and hashes
 * nothing: a chunk has thousands of references.
 */
export class RunErasures {
  private readonly store: Erasures
  private readonly teamId: string
  private readonly handOn: (references: readonly ErasedReference[]) => void
  private newest = 0

  /** @param handOn gives erased references to the process */
  constructor(
    store: Erasures,
    teamId: string,
    handOn: (references: readonly ErasedReference[]) => void,
  ) {
    this.store = store
    this.teamId = teamId
    this.handOn = handOn
  }

  /** The number of the newest erasure that the process knows, if it is one of its team. */
  get version(): number {
    return this.newest
  }

  /** Reads what is new. */
  async load(): Promise<void> {
    const { store, teamId } = this
    const newest = await store.newestErasure()
    // It falls where old ones have left, or another database took over: numbers can be new again.
    for (let after = newest < this.newest ? 0 : this.newest; after < newest; ) {
      const erased = await store.erasedAfter(teamId, after, PORTION)
      if (erased.length > 0) this.handOn(erased)
      after = erased.length < PORTION ? newest : (erased.at(-1)?.number ?? newest)
    }
    this.newest = newest
  }
}
