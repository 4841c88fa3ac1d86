import pLimit from 'p-limit'
import { AppError } from '../../errors.ts'
import { TeamLimiter } from '../../platform/team-limiter.ts'
import { runInThread, ThreadBoundError, type ThreadBounds } from '../../platform/threads.ts'
import type { importFields } from './responses.ts'
import type {
  ImportInput,
  ImportOutcome,
  ImportResponse,
  SpecChecked,
  SpecCheckInput,
} from './run-import.ts'

interface ImportOrder {
  readonly input: ImportInput
  readonly isToRegister: boolean
}

export type ImportTask =
  | ({ readonly kind: 'import'; readonly bytesMax: number } & ImportOrder)
  | { readonly kind: 'check'; readonly input: SpecCheckInput }
  | { readonly kind: 'file'; readonly file: CheckedFile; readonly bytesMax: number }

/** A file whose first line is the order of an import, and the others its sample. */
interface CheckedFile {
  readonly path: string
  /** Offset of the sample. */
  readonly from: number
  /** Counts the rows that were read, over all passes. */
  readonly read: Int32Array<SharedArrayBuffer>
}

export type FileChecked = ReturnType<typeof importFields> & {
  /** The counted sample; null if an applicant differs. */
  readonly development_sample: ImportOutcome['sample']
}

const WORKER = new URL('./worker.ts', import.meta.url)
const CONCURRENCY = 1
/** One of a team; beside the running one, eight wait. */
const UNDER_WAY = { teamMax: 1, max: CONCURRENCY + 8 }
const BOUNDS: ThreadBounds = { memoryMb: 512, youngMemoryMb: 64, deadlineMs: 60_000 }
const ANSWER_BYTES_MAX = 16 * 1024 * 1024
/** A million applicants with a hundred features take a minute on a core of their own. */
const FILE_DEADLINE_MS = 1_800_000

/**
 * Runs each import, and each check of a specification, in a thread of its own: parsing 16 MB of XML
 * takes seconds, during which the process could not answer any request.
 *
 * One runs at a time, so that imports use at most one core. A team has at most one under way, so
 * that every team gets its turn. The number of waiting imports is bounded, and so are the time,
 * memory and output of each. The thread writes the response and hands it over as bytes, so that its
 * size costs the process nothing.
 */
export class ImportThread {
  private readonly turns = pLimit(CONCURRENCY)
  private readonly limiter = new TeamLimiter(UNDER_WAY)

  /**
   * @throws AppError `unavailable` while an import of the team is under way or too many wait;
   *   `invalid_request` when the import takes too much time, memory or output; the reason of an
   *   aborted signal
   */
  run(teamId: string, order: ImportOrder, signal: AbortSignal): Promise<ImportResponse> {
    const task = { kind: 'import', ...order, bytesMax: ANSWER_BYTES_MAX } as const
    return this.inTurn<ImportResponse>(teamId, task, signal)
  }

  /** Scores a sample with a specification; throws as `run` does. */
  check(teamId: string, input: SpecCheckInput, signal?: AbortSignal): Promise<SpecChecked> {
    return this.inTurn<SpecChecked>(teamId, { kind: 'check', input }, signal)
  }

  private async inTurn<Result>(
    teamId: string,
    task: ImportTask,
    signal?: AbortSignal,
  ): Promise<Result> {
    const release = this.limiter.reserve(teamId, teamImport)
    const bounds = signal === undefined ? BOUNDS : { ...BOUNDS, signal }
    try {
      return await this.turns(() => runTask<Result>(task, bounds))
    } finally {
      release()
    }
  }
}

/**
 * Checks a card with the sample of a file, in a thread of its own beside those of requests.
 *
 * @throws AppError `invalid_request` when it takes too much time, memory or output; the reason of
 *   an aborted signal
 */
export function checkFile(file: CheckedFile, signal: AbortSignal): Promise<FileChecked> {
  const task = { kind: 'file', file, bytesMax: ANSWER_BYTES_MAX } as const
  return runTask(task, { ...BOUNDS, deadlineMs: FILE_DEADLINE_MS, signal })
}

async function runTask<Result>(task: ImportTask, bounds: ThreadBounds): Promise<Result> {
  try {
    const result = await runInThread<Result | null>(WORKER, task, bounds)
    if (result !== null) return result
  } catch (error) {
    if (error instanceof ThreadBoundError) throw tooMuch(error.message)
    throw error
  }
  throw tooMuch(`an answer of more than ${ANSWER_BYTES_MAX} bytes`)
}

function teamImport(): AppError {
  const message = 'an import or a check of your team is under way: wait for its answer'
  return new AppError('unavailable', message)
}

function tooMuch(what: string): AppError {
  return new AppError('invalid_request', `importing and checking the card takes ${what}`)
}
