import { Worker } from 'node:worker_threads'
import { AppError, type ErrorCode } from '../errors.ts'
import type { DrainedBlock } from '../score-log/blocks/encode-blocks.ts'
import type { ReadBytes } from './input/record.ts'
import type { BatchTask, FromThread, ThreadChunk, ToThread } from './thread-messages.ts'

const WORKER = new URL('./worker.ts', import.meta.url)
/** A row group of a Parquet file is decoded as a whole. */
const MEMORY_MB = { maxOldGenerationSizeMb: 1_024, maxYoungGenerationSizeMb: 64 }

/**
 * A thread that reads and scores the file of one batch, chunk after chunk, with the lowest
 * priority, so that requests go first. It has no connections: bytes come from the process, and
 * what it makes goes back there.
 */
export class BatchThread {
  private readonly worker: Worker
  private readonly read: ReadBytes
  /** Why the file could not be read; the thread does not know. */
  private readFailure: unknown = null
  private onChunk: (chunk: ThreadChunk | null) => void = () => undefined
  private onFailed: (error: unknown) => void = () => undefined

  constructor(task: BatchTask, read: ReadBytes) {
    this.read = read
    this.worker = new Worker(WORKER, {
      workerData: task,
      execArgv: [],
      name: 'batch',
      resourceLimits: MEMORY_MB,
    })
    this.worker.on('message', (message: FromThread) => void this.take(message))
    this.worker.on('error', (error) => this.onFailed(threadError(error)))
    this.worker.on('exit', () => this.onFailed(new Error('the thread of a batch has ended')))
  }

  /**
   * Scores the next chunk.
   *
   * @returns null at the end of the file
   * @throws AppError `invalid_file`; what the reading of the file threw
   */
  next(requestId: string, scoredAtMs: number): Promise<ThreadChunk | null> {
    const { promise, resolve, reject } = Promise.withResolvers<ThreadChunk | null>()
    this.onChunk = resolve
    this.onFailed = reject
    this.post({ kind: 'score', requestId, scoredAtMs })
    return promise
  }

  async close(): Promise<void> {
    this.onFailed = () => undefined
    await this.worker.terminate()
  }

  private async take(message: FromThread): Promise<void> {
    if (message.kind === 'read') {
      const bytes = await this.read(message.from, message.bytes).catch((error: unknown) => {
        this.readFailure = error
        return null
      })
      this.post({ kind: 'bytes', bytes })
    } else if (message.kind === 'chunk') this.onChunk(revived(message.chunk))
    else if (this.readFailure !== null) this.onFailed(this.readFailure)
    // The code is one of the service's own: the thread has sent it.
    else if (message.code !== 'internal_error') {
      this.onFailed(new AppError(message.code as ErrorCode, message.message))
    } else this.onFailed(new Error(message.message))
  }

  private post(message: ToThread): void {
    this.worker.postMessage(message)
  }
}

function threadError(error: unknown): unknown {
  const isOutOfMemory =
    error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
  if (!isOutOfMemory) return error
  return new AppError(
    'invalid_file',
    'the file takes too much memory: write Parquet with smaller row groups, or use CSV or NDJSON',
  )
}

/** Memory of a message comes without the class of Node. */
function revived(chunk: ThreadChunk | null): ThreadChunk | null {
  if (chunk === null) return null
  const blocks = chunk.blocks.map((block): DrainedBlock => {
    const { data, sums, referenceFilter, trees } = block
    return {
      ...block,
      data: bufferOf(data),
      sums: bufferOf(sums),
      referenceFilter: referenceFilter === null ? null : bufferOf(referenceFilter),
      trees: trees.map((tree) => ({ ...tree, root: bufferOf(tree.root) })),
    }
  })
  return { ...chunk, blocks }
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength)
}
