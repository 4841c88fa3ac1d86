import { constants, getPriority, platform, setPriority } from 'node:os'
import { Worker } from 'node:worker_threads'
import { QUICK_START } from './quick-start-argv.ts'

export interface ThreadBounds {
  /** Old generation of the thread's heap, in MiB. */
  readonly memoryMb: number
  /** Young generation of the thread's heap, in MiB; Node's default when left out. */
  readonly youngMemoryMb?: number
  readonly deadlineMs: number
  /** Ends the thread when it is aborted. */
  readonly signal?: AbortSignal
}

/** A thread that reached one of its bounds; `message` names the bound. */
export class ThreadBoundError extends Error {}

/**
 * Runs one task in a thread of its own and returns the first message that the thread posts.
 *
 * The thread is terminated at the deadline.
 *
 * @param file entry point of the thread; reads the task from `workerData`
 * @param task must be structured-cloneable
 * @throws ThreadBoundError when the task takes more memory or time than allowed; the reason of an
 *   aborted signal; otherwise the error that the thread threw
 */
export function runInThread<Result>(
  file: URL,
  task: object,
  { memoryMb, youngMemoryMb, deadlineMs, signal }: ThreadBounds,
): Promise<Result> {
  signal?.throwIfAborted()
  const worker = new Worker(file, {
    workerData: task,
    execArgv: [...QUICK_START],
    resourceLimits: {
      maxOldGenerationSizeMb: memoryMb,
      ...(youngMemoryMb !== undefined && { maxYoungGenerationSizeMb: youngMemoryMb }),
    },
  })
  return new Promise((resolve, reject) => {
    const end = (reason: unknown) => {
      reject(reason)
      void worker.terminate()
    }
    const onAbort = () => end(signal?.reason)
    signal?.addEventListener('abort', onAbort, { once: true })
    const deadline = setTimeout(
      () => end(new ThreadBoundError(`more than ${deadlineMs / 1000} seconds`)),
      deadlineMs,
    )
    worker.on('message', resolve)
    worker.on('error', (error) =>
      reject(isOutOfMemory(error) ? new ThreadBoundError('too much memory') : error),
    )
    worker.on('exit', () => {
      clearTimeout(deadline)
      signal?.removeEventListener('abort', onAbort)
      reject(new Error('the thread ended without a result'))
    })
  })
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
}

/**
 * Lets threads that answer requests go before the calling one, which still gets a tenth of a core
 * that they keep busy. Only Linux has a priority for each thread; elsewhere nothing changes.
 */
export function goBehindRequests(): void {
  if (platform() !== 'linux') return
  const behind = constants.priority.PRIORITY_BELOW_NORMAL
  try {
    // 0 is the calling thread. To take a lower priority needs no right, but a higher one does: the
    // service may have begun with a lower one.
    if (getPriority(0) < behind) setPriority(0, behind)
  } catch {
    // A container may forbid the call. The thread does its work all the same.
  }
}
