import { Worker } from 'node:worker_threads'
import pLimit from 'p-limit'
import { AppError } from '../errors.ts'
import type { ImportOrder, ImportOutcome } from './order.ts'

/** Where imports are carried out. */
export interface ImportRunner {
  /** @throws AppError `unavailable` when too many wait, `invalid_request` when one takes too much */
  run(order: ImportOrder): Promise<ImportOutcome>
}

const WORKER = new URL('worker.ts', import.meta.url)
const AT_ONCE = 1
const WAITING_MAX = 8
const DEADLINE_MS = 60_000
const MEMORY_MB = 512
const YOUNG_MEMORY_MB = 64

/**
 * Carries each import out in a thread of its own: parsing 16 MB of XML takes seconds, in which the
 * process would answer nobody. One at a time, so that they take one core at the most; those that wait
 * are bounded, and so are the time and the memory of each.
 */
export class ImportThread implements ImportRunner {
  private readonly limit = pLimit(AT_ONCE)

  run(order: ImportOrder): Promise<ImportOutcome> {
    if (this.limit.pendingCount >= WAITING_MAX) {
      throw new AppError('unavailable', 'too many imports are under way: try again in a minute')
    }
    return this.limit(() => outcomeOf(order))
  }
}

function outcomeOf(order: ImportOrder): Promise<ImportOutcome> {
  const worker = new Worker(WORKER, {
    workerData: order,
    execArgv: [],
    resourceLimits: {
      maxOldGenerationSizeMb: MEMORY_MB,
      maxYoungGenerationSizeMb: YOUNG_MEMORY_MB,
    },
  })
  return new Promise<ImportOutcome>((resolve, reject) => {
    const deadline = setTimeout(() => {
      reject(tooMuch(`more than ${DEADLINE_MS / 1000} seconds`))
      void worker.terminate()
    }, DEADLINE_MS)
    worker.on('message', resolve)
    worker.on('error', (error) => reject(isOutOfMemory(error) ? tooMuch('too much memory') : error))
    worker.on('exit', () => {
      clearTimeout(deadline)
      reject(new Error('the thread of an import ended without an answer'))
    })
  })
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
}

function tooMuch(what: string): AppError {
  return new AppError('invalid_request', `importing this card, and checking it, takes ${what}`)
}
