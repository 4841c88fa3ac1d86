import { Worker } from 'node:worker_threads'
import pLimit from 'p-limit'
import { AppError } from '../errors.ts'
import type { Carried, ImportOrder } from './order.ts'

/** Where imports are carried out. */
export interface ImportRunner {
  /** @throws AppError `unavailable` while one of the team is under way, or too many wait; `invalid_request` when one takes too much */
  run(teamId: string, order: ImportOrder, isToRegister: boolean): Promise<Carried>
}

/** What its thread is handed. */
export interface ThreadOrder {
  readonly order: ImportOrder
  readonly isToRegister: boolean
  readonly bytesMax: number
}

const WORKER = new URL('worker.ts', import.meta.url)
const AT_ONCE = 1
const WAITING_MAX = 8
const DEADLINE_MS = 60_000
const MEMORY_MB = 512
const YOUNG_MEMORY_MB = 64
const ANSWER_BYTES_MAX = 16 * 1024 * 1024

/**
 * Carries each import out in a thread of its own: parsing 16 MB of XML takes seconds, in which the
 * process would answer nobody. One at a time, so that they take one core at the most, and no
 * team has more than one, so that each gets its turn; those that wait are bounded, and so are the time, the
 * memory and the answer of each. The answer is written in the thread, and handed over as bytes, so that its
 * size costs the process nothing.
 */
export class ImportThread implements ImportRunner {
  private readonly limit = pLimit(AT_ONCE)
  /** Those with an import that runs or waits. */
  private readonly teams = new Set<string>()

  async run(teamId: string, order: ImportOrder, isToRegister: boolean): Promise<Carried> {
    if (this.teams.has(teamId)) {
      throw new AppError('unavailable', 'an import of your team is under way: wait for its answer')
    }
    if (this.limit.pendingCount >= WAITING_MAX) {
      throw new AppError('unavailable', 'too many imports are under way: try again in a minute')
    }
    this.teams.add(teamId)
    try {
      const bounded = { order, isToRegister, bytesMax: ANSWER_BYTES_MAX }
      return await this.limit(() => carriedOut(bounded))
    } finally {
      this.teams.delete(teamId)
    }
  }
}

function carriedOut(order: ThreadOrder): Promise<Carried> {
  const worker = new Worker(WORKER, {
    workerData: order,
    execArgv: [],
    resourceLimits: {
      maxOldGenerationSizeMb: MEMORY_MB,
      maxYoungGenerationSizeMb: YOUNG_MEMORY_MB,
    },
  })
  return new Promise<Carried>((resolve, reject) => {
    const deadline = setTimeout(() => {
      reject(tooMuch(`more than ${DEADLINE_MS / 1000} seconds`))
      void worker.terminate()
    }, DEADLINE_MS)
    worker.on('message', (carried: Carried | null) => {
      if (carried !== null) resolve(carried)
      else reject(tooMuch(`an answer of more than ${ANSWER_BYTES_MAX} bytes`))
    })
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
