import { Worker } from 'node:worker_threads'
import pLimit from 'p-limit'
import { AppError } from '../errors.ts'
import type { Exported, ExportRequest, ExportRunner } from './service.ts'
import type { WorkerAnswer } from './worker.ts'

const WORKER = new URL('worker.ts', import.meta.url)
const AT_ONCE = 1
const WAITING_MAX = 8
/** Enough for the largest spec that a request can hold; beyond it a card takes too much. */
const MEMORY_MB = 2048
const DEADLINE_MS = 60_000

interface ThreadBounds {
  readonly memoryMb: number
  readonly deadlineMs: number
}

/**
 * Writes each large card in a thread of its own, one at a time, so that they take one core at the most. Those
 * that wait are bounded, and so are the time and the memory of each.
 */
export class ExportThread implements ExportRunner {
  private readonly limit = pLimit(AT_ONCE)
  private readonly bounds: ThreadBounds

  constructor(bounds: ThreadBounds = { memoryMb: MEMORY_MB, deadlineMs: DEADLINE_MS }) {
    this.bounds = bounds
  }

  /** @throws AppError as the port says, and `not_exportable` when the card takes too much */
  async run(specText: string, request: ExportRequest): Promise<Exported> {
    if (this.limit.pendingCount >= WAITING_MAX) {
      throw new AppError('unavailable', 'too many exports are under way: try again in a minute')
    }
    const answer = await this.limit(() => answerTo({ specText, request }, this.bounds))
    if (!answer.ok) throw new AppError(answer.code, answer.message, { details: answer.details })
    return answer.exported
  }
}

function answerTo(task: object, { memoryMb, deadlineMs }: ThreadBounds): Promise<WorkerAnswer> {
  const worker = new Worker(WORKER, {
    workerData: task,
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
  })
  return new Promise((resolve, reject) => {
    const deadline = setTimeout(() => {
      reject(tooMuch(`more than ${deadlineMs / 1000} seconds`))
      void worker.terminate()
    }, deadlineMs)
    worker.on('message', resolve)
    worker.on('error', (error) => reject(isOutOfMemory(error) ? tooMuch('too much memory') : error))
    worker.on('exit', () => {
      clearTimeout(deadline)
      reject(new Error('the thread of an export ended without an answer'))
    })
  })
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
}

/** Of the card, not of the service: it would take as much the next time. */
function tooMuch(what: string): AppError {
  const message = `writing this card in the wanted language takes ${what}`
  return new AppError('not_exportable', message)
}
