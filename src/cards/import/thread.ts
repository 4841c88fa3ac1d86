import pLimit from 'p-limit'
import { AppError } from '../errors.ts'
import { runInThread, ThreadBoundError, type ThreadBounds } from '../platform/threads.ts'
import type { ImportInput, ImportResponse, SpecChecked, SpecCheckInput } from './run-import.ts'

/** Runs imports and checks apart from the process that answers requests. */
export interface ImportRunner {
  /**
   * @throws AppError `unavailable` while an import of the team is under way or too many wait;
   *   `invalid_request` when the import takes too much time, memory or output
   */
  run(teamId: string, input: ImportInput, isToRegister: boolean): Promise<ImportResponse>
  /** Scores a sample with a specification; throws as `run` does. */
  check(teamId: string, input: SpecCheckInput): Promise<SpecChecked>
}

/** A task of the import thread. */
export type ImportTask =
  | {
      readonly kind: 'import'
      readonly input: ImportInput
      readonly isToRegister: boolean
      readonly bytesMax: number
    }
  | { readonly kind: 'check'; readonly input: SpecCheckInput }

const WORKER = new URL('./worker.ts', import.meta.url)
const CONCURRENCY = 1
const WAITING_MAX = 8
const BOUNDS: ThreadBounds = { memoryMb: 512, youngMemoryMb: 64, deadlineMs: 60_000 }
const ANSWER_BYTES_MAX = 16 * 1024 * 1024

/**
 * Runs each import, and each check of a specification, in a thread of its own: parsing 16 MB of XML
 * takes seconds, during which the process could not answer any request.
 *
 * One runs at a time, so that imports use at most one core. A team has at most one under way, so
 * that every team gets its turn. The number of waiting imports is bounded, and so are the time,
 * memory and output of each. The thread writes the response and hands it over as bytes, so that its
 * size costs the process nothing.
 */
export class ImportThread implements ImportRunner {
  private readonly limit = pLimit(CONCURRENCY)
  /** Teams whose import runs or waits. */
  private readonly teams = new Set<string>()

  run(teamId: string, input: ImportInput, isToRegister: boolean): Promise<ImportResponse> {
    const task = { kind: 'import', input, isToRegister, bytesMax: ANSWER_BYTES_MAX } as const
    return this.inTurn<ImportResponse>(teamId, task)
  }

  check(teamId: string, input: SpecCheckInput): Promise<SpecChecked> {
    return this.inTurn<SpecChecked>(teamId, { kind: 'check', input })
  }

  private async inTurn<Result>(teamId: string, task: ImportTask): Promise<Result> {
    if (this.teams.has(teamId)) {
      throw new AppError(
        'unavailable',
        'an import or a check of your team is under way: wait for its answer',
      )
    }
    if (this.limit.pendingCount >= WAITING_MAX) {
      throw new AppError('unavailable', 'too many imports are under way: try again in a minute')
    }
    this.teams.add(teamId)
    try {
      return await this.limit(() => runTask<Result>(task))
    } finally {
      this.teams.delete(teamId)
    }
  }
}

async function runTask<Result>(task: ImportTask): Promise<Result> {
  try {
    const result = await runInThread<Result | null>(WORKER, task, BOUNDS)
    if (result !== null) return result
  } catch (error) {
    if (error instanceof ThreadBoundError) throw tooMuch(error.message)
    throw error
  }
  throw tooMuch(`an answer of more than ${ANSWER_BYTES_MAX} bytes`)
}

function tooMuch(what: string): AppError {
  return new AppError('invalid_request', `importing and checking the card takes ${what}`)
}
