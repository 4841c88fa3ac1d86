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

/**
 * Writes each large card in a thread of its own, one at a time, so that they take one core at the most. Those
 * that wait are bounded, and so are the time and the memory of each.
 */
export class ExportThread implements ExportRunner {
  private readonly limit = pLimit(AT_ONCE)

  async run(specText: string, request: ExportRequest): Promise<Exported> {
    if (this.limit.pendingCount >= WAITING_MAX) {
      throw new AppError('unavailable', 'too many exports are under way: try again in a minute')
    }
    const answer = await this.limit(() => answerTo({ specText, request }))
    if (!answer.ok) throw new AppError(answer.code, answer.message, { details: answer.details })
    return answer.exported
  }
}

function answerTo(task: object): Promise<WorkerAnswer> {
  const worker = new Worker(WORKER, {
    workerData: task,
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
  })
  return new Promise((resolve, reject) => {
    const deadline = setTimeout(() => {
      reject(new Error(`an export took more than ${DEADLINE_MS} ms`))
      void worker.terminate()
    }, DEADLINE_MS)
    worker.on('message', resolve)
    worker.on('error', reject)
    worker.on('exit', () => {
      clearTimeout(deadline)
      reject(new Error('the thread of an export ended without an answer'))
    })
  })
}
