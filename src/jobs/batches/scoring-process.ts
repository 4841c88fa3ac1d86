import { type ChildProcess, fork } from 'node:child_process'
import { totalmem } from 'node:os'
import type { Duplex } from 'node:stream'
import { AppError, type ErrorCode } from '../../errors.ts'
import type { DrainedBlock } from '../../log/index.ts'
import { QUICK_START } from '../../platform/quick-start-argv.ts'
import { BYTES_PIPE, HandedBytes, PipeEndedError, sendBytes } from './byte-pipe.ts'
import { invalidFile, type ReadBytes } from './input/record.ts'
import type {
  BatchTask,
  ErasedReference,
  FromProcess,
  HandedPortion,
  ProcessFailure,
  ScoredPortion,
  ToProcess,
} from './process-messages.ts'

interface ScoringProcessOptions {
  readonly task: BatchTask
  readonly read: ReadBytes
  /** Names the file in errors, such as `the file that was sent`. */
  readonly fileName: string
  /** Absent: 2 GiB, or half of what there is. */
  readonly memoryBytesMax?: number
}

interface AskedChunk {
  readonly requestId: string
  /** Number of times that erased references went to the process before. */
  readonly erasures: number
  readonly answer: PromiseWithResolvers<ScoredPortion | null>
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
 * A process that reads and scores the file of one batch, chunk after chunk, behind requests.
 * Whatever a file does to it, it ends alone: it has bounds for memory and time, no
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
  /** The part that was read last. */
  private place: string | null = null
  /** The chunk that the process was asked for and has not given. */
  private chunk: AskedChunk | null = null
  private encoded: PromiseWithResolvers<readonly DrainedBlock[]> | null = null
  private readonly handed: HandedBytes | null
  /** Number of times that erased references went to the process. */
  private erasures = 0

  constructor(options: ScoringProcessOptions) {
    this.options = options
    this.memoryBytesMax = options.memoryBytesMax ?? memoryBytesMax()
    this.child = fork(PROCESS, [], {
      env: {},
      execArgv: [...QUICK_START, `--max-old-space-size=${MAIN_HEAP_MIB}`],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc', 'pipe'],
    })
    // A process that has ended is heard of by its exit.
    this.pipe?.on('error', () => undefined)
    this.handed = this.pipe === undefined ? null : new HandedBytes(this.pipe)
    this.child.on('message', (message: FromProcess) => void this.take(message))
    this.ended = new Promise((resolve) => {
      this.child.once('exit', (code, signal) => {
        this.fail(this.endError(signal ?? `status ${code}`))
        resolve()
      })
      this.child.once('error', (error) => {
        if (this.child.pid === undefined) {
          const message = 'the system could not start a process for the file'
          this.fail(new AppError('unavailable', message, { cause: error }))
          resolve()
        } else this.fail(error)
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
    const answer = Promise.withResolvers<ScoredPortion | null>()
    this.chunk = { requestId, erasures: this.erasures, answer }
    this.ask({ kind: 'score', requestId, scoredAtMs })
    return answer.promise
  }

  /** Has the process leave out erased references of the team, beside those before. */
  erase(references: readonly ErasedReference[]): void {
    this.erasures++
    this.post({ kind: 'erased', references })
  }

  /**
   * The log of one of the last two chunks, without all references that are erased by now.
   *
   * @throws as `next`
   */
  async makeBlocks(chunk: ScoredPortion): Promise<readonly DrainedBlock[]> {
    const { requestId, blocks, erasures } = chunk
    if (blocks.length === 0 || erasures === this.erasures) return blocks
    this.encoded = Promise.withResolvers()
    const { promise } = this.encoded
    this.ask({ kind: 'encode', requestId })
    return promise
  }

  async close(): Promise<void> {
    this.chunk = null
    this.encoded = null
    this.child.kill('SIGKILL')
    await this.ended
  }

  private async take(message: FromProcess): Promise<void> {
    if (message.kind === 'read') {
      this.place = message.place
      const bytes = await this.readBytes(message)
      if (this.pipe?.writable === true) sendBytes(this.pipe, bytes)
    } else if (message.kind === 'chunk') await this.takeChunk(message.chunk)
    else if (message.kind === 'encoded') this.encoded?.resolve(revived(message.blocks))
    else if (message.kind === 'overrun') {
      this.fail(this.readFailure ?? this.overrunError(message.of))
    }
    // A chunk that was scored before stays whole.
    else if (message.of === 'score') this.chunk?.answer.reject(this.makeError(message))
    else this.encoded?.reject(this.makeError(message))
  }

  private makeError({ code, message }: ProcessFailure): unknown {
    if (this.readFailure !== null) return this.readFailure
    // The code is one of the service's own: the thread has sent it.
    if (code !== 'internal_error') return new AppError(code as ErrorCode, message)
    return new Error(message)
  }

  private async takeChunk(portion: HandedPortion | null): Promise<void> {
    const { chunk, handed } = this
    if (chunk === null) return
    const { requestId, erasures, answer } = chunk
    if (portion === null) {
      answer.resolve(null)
      return
    }
    const { resultBytes, errorBytes, blocks, ...facts } = portion
    try {
      if (handed === null) throw new Error('the process has no pipe')
      const results = await handed.take(resultBytes)
      const errors = await handed.take(errorBytes)
      const parts = { results, errors, blocks: revived(blocks) }
      answer.resolve({ ...facts, ...parts, requestId, erasures })
    } catch (error) {
      // A process that has ended is heard of by its exit.
      if (!(error instanceof PipeEndedError)) answer.reject(error)
    }
  }

  private fail(error: unknown): void {
    this.chunk?.answer.reject(error)
    this.encoded?.reject(error)
  }

  private async readBytes({
    from,
    bytes,
  }: {
    from: number
    bytes: number
  }): Promise<Buffer | null> {
    try {
      if (bytes > READ_BYTES_MAX) throw new RangeError('the process asks for too many bytes')
      return await this.options.read(from, bytes)
    } catch (error) {
      this.readFailure = error
      return null
    }
  }

  /** For the bytes of the file; absent where no process could be started. */
  private get pipe(): Duplex | undefined {
    // Without a free file descriptor Node makes no streams at all.
    const { stdio }: Partial<ChildProcess> = this.child
    return (stdio?.[BYTES_PIPE] as Duplex | null | undefined) ?? undefined
  }

  private ask(message: ToProcess): void {
    const { exitCode, signalCode } = this.child
    if (exitCode === null && signalCode === null) this.post(message)
    else this.fail(this.endError(signalCode ?? `status ${exitCode}`))
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
function revived(blocks: readonly DrainedBlock[]): DrainedBlock[] {
  return blocks.map((block) => {
    const { data, sums, referenceFilter, trees } = block
    return {
      ...block,
      data: toBuffer(data),
      sums: toBuffer(sums),
      referenceFilter: referenceFilter === null ? null : toBuffer(referenceFilter),
      trees: trees.map((tree) => ({ ...tree, root: toBuffer(tree.root) })),
    }
  })
}

function toBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength)
}
