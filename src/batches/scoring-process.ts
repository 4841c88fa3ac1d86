import { type ChildProcess, fork } from 'node:child_process'
import { totalmem } from 'node:os'
import type { Writable } from 'node:stream'
import { AppError, type ErrorCode } from '../errors.ts'
import type { DrainedBlock } from '../score-log/blocks/encode-blocks.ts'
import { BYTES_PIPE, sendBytes } from './byte-pipe.ts'
import { invalidFile, type ReadBytes } from './input/record.ts'
import type { BatchTask, FromProcess, ScoredPortion, ToProcess } from './process-messages.ts'

interface ScoringProcessOptions {
  readonly task: BatchTask
  readonly read: ReadBytes
  /** Names the file in errors, such as `the file that was sent`. */
  readonly fileName: string
  /** Absent: 2 GiB, or half of what there is. */
  readonly memoryBytesMax?: number
}

/**
 * The process has ended without a word of its own: perhaps the system took its memory for somebody
 * else, perhaps its file is the cause.
 */
export class ProcessEndedError extends AppError {}

const PROCESS = new URL('./process.ts', import.meta.url)
const MIB = 1024 * 1024
/** Memory of the process: a row group of a Parquet file is decoded as a whole. */
const MEMORY_BYTES_MAX = 2_048 * MIB
/** Its main thread only passes on messages. */
const MAIN_HEAP_MIB = 256
/** Longest read that the thread asks for. */
const READ_BYTES_MAX = 8 * MIB

/**
 * A process that reads and scores the file of one batch, chunk after chunk, with the lowest
 * priority. Whatever a file does to it, it ends alone: it has bounds for memory and time, no
 * connections, and no variables of the service. Bytes come from the service, and what it makes goes
 * back there.
 */
export class ScoringProcess {
  private readonly child: ChildProcess
  private readonly options: ScoringProcessOptions
  private readonly memoryBytesMax: number
  private readonly ended: Promise<void>
  /** Why the file could not be read; the process does not know. */
  private readFailure: unknown = null
  /** What was read last. */
  private place: string | null = null
  private onChunk: (chunk: ScoredPortion | null) => void = () => undefined
  private onFailed: (error: unknown) => void = () => undefined

  constructor(options: ScoringProcessOptions) {
    this.options = options
    this.memoryBytesMax = options.memoryBytesMax ?? memoryBytesMax()
    this.child = fork(PROCESS, [], {
      env: {},
      execArgv: [`--max-old-space-size=${MAIN_HEAP_MIB}`],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc', 'pipe'],
    })
    // A process that has ended is heard of by its exit.
    this.pipe?.on('error', () => undefined)
    this.child.on('message', (message: FromProcess) => void this.take(message))
    this.ended = new Promise((resolve) => {
      this.child.once('exit', (code, signal) => {
        this.onFailed(this.endError(signal ?? `status ${code}`))
        resolve()
      })
      this.child.once('error', (error) => {
        if (this.child.pid === undefined) {
          const message = 'the system could not start a process for the file'
          this.onFailed(new AppError('unavailable', message, { cause: error }))
          resolve()
        } else this.onFailed(error)
      })
    })
    this.post({ kind: 'open', task: options.task, memoryBytesMax: this.memoryBytesMax })
  }

  /**
   * Scores the next chunk.
   *
   * @returns null at the end of the file
   * @throws ProcessEndedError; AppError `invalid_file`, `unavailable` if no process could be
   *   started; what the reading of the file threw
   */
  next(requestId: string, scoredAtMs: number): Promise<ScoredPortion | null> {
    const { promise, resolve, reject } = Promise.withResolvers<ScoredPortion | null>()
    this.onChunk = resolve
    this.onFailed = reject
    if (this.child.exitCode === null && this.child.signalCode === null) {
      this.post({ kind: 'score', requestId, scoredAtMs })
    } else reject(this.endError(this.child.signalCode ?? `status ${this.child.exitCode}`))
    return promise
  }

  async close(): Promise<void> {
    this.onFailed = () => undefined
    this.child.kill('SIGKILL')
    await this.ended
  }

  private async take(message: FromProcess): Promise<void> {
    if (message.kind === 'read') {
      this.place = message.place
      const bytes = await this.bytesOf(message)
      if (this.pipe?.writable === true) sendBytes(this.pipe, bytes)
    } else if (message.kind === 'chunk') this.onChunk(revived(message.chunk))
    else if (this.readFailure !== null) this.onFailed(this.readFailure)
    else if (message.kind === 'overrun') this.onFailed(this.overrunError(message.of))
    // The code is one of the service's own: the thread has sent it.
    else if (message.code !== 'internal_error') {
      this.onFailed(new AppError(message.code as ErrorCode, message.message))
    } else this.onFailed(new Error(message.message))
  }

  private async bytesOf({ from, bytes }: { from: number; bytes: number }): Promise<Buffer | null> {
    try {
      if (bytes > READ_BYTES_MAX) throw new RangeError('the process asks for too many bytes')
      return await this.options.read(from, bytes)
    } catch (error) {
      this.readFailure = error
      return null
    }
  }

  /** For the bytes of the file; absent where no process could be started. */
  private get pipe(): Writable | undefined {
    // Without a free file descriptor Node makes no streams at all.
    const { stdio }: Partial<ChildProcess> = this.child
    return (stdio?.[BYTES_PIPE] as Writable | null | undefined) ?? undefined
  }

  /** A process that has ended is heard of by its exit. */
  private post(message: ToProcess): void {
    if (this.child.connected) this.child.send(message, () => undefined)
  }

  private endError(how: string): ProcessEndedError {
    return new ProcessEndedError(
      'invalid_file',
      `${this.where} ended the process that reads it (${how}): it is damaged, or takes too much memory. ${ADVICE}`,
    )
  }

  private overrunError(of: 'memory' | 'time'): AppError {
    const bound = of === 'memory' ? `${Math.floor(this.memoryBytesMax / MIB)} MiB of memory` : TIME
    return invalidFile(`${this.where} takes more than ${bound}. ${ADVICE}`)
  }

  private get where(): string {
    const { fileName } = this.options
    return this.place === null ? fileName : `${fileName}, at ${this.place},`
  }
}

const ADVICE = 'Write it anew: as Parquet with smaller row groups, as CSV or as NDJSON'
const TIME = 'two minutes of processor time for a part'

/** At most half of what the machine or the container has. */
function memoryBytesMax(): number {
  const there = process.constrainedMemory() || totalmem()
  return Math.min(MEMORY_BYTES_MAX, Math.floor(Math.min(there, totalmem()) / 2))
}

/** Memory of a message comes without the class of Node. */
function revived(chunk: ScoredPortion | null): ScoredPortion | null {
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
