import { WorkerThread } from '../../platform/worker-thread.ts'
import type { SegmentRange } from '../spool/reader.ts'
import type { DrainedRange, RangeDrainer } from './drain-options.ts'

/** Start data of the thread. */
export interface DrainWorkerData {
  readonly databaseUrl: string
}

interface DrainThreadOptions extends DrainWorkerData {
  /** True if answers wait for the thread. It starts at once then and stays. */
  readonly isAwaited: boolean
  /** Called if the thread ends by itself or can't be started; another thread replaces it. */
  readonly onCrash: (error: unknown) => void
  /** Called if the database did not answer the thread: other connections can be dead too. */
  readonly onSilent: () => void
}

const WORKER = new URL('./drain-worker.ts', import.meta.url)
/** Longer than the thread's own deadline for the database. */
const DEADLINE_MS = 15_000
const RESTART_PAUSE_MS = 5_000
/** The end of a thread gives some 10 of its 40 MB back; to start another takes 0.3 s. */
const IDLE_MS = 600_000
/** A batch is at most 8 MiB, in a buffer outside the heap. */
const MEMORY_MB = { old: 256, young: 24 }

/**
 * A thread that reads records from the spool's files and writes them to PostgreSQL. On the thread
 * that answers requests, this took as long as the rest of a score.
 *
 * It drains one range at a time. It starts with the first and ends after ten minutes without one,
 * unless answers wait for it. A thread that dies or exceeds its deadline is replaced; its range
 * may or may not be in the log then.
 */
export class DrainThread implements RangeDrainer {
  private readonly thread: WorkerThread<SegmentRange, DrainedRange | null>
  private readonly onCrash: (error: unknown) => void

  constructor({ databaseUrl, isAwaited, onCrash, onSilent }: DrainThreadOptions) {
    const workerData: DrainWorkerData = { databaseUrl }
    this.onCrash = onCrash
    this.thread = new WorkerThread({
      file: WORKER,
      name: 'score log',
      workerData,
      memoryMb: MEMORY_MB,
      restartPauseMs: RESTART_PAUSE_MS,
      idleMs: isAwaited ? null : IDLE_MS,
      onCrash,
      onSilent,
    })
    if (isAwaited) this.thread.start()
  }

  async drainRange(range: SegmentRange): Promise<DrainedRange | null> {
    const overdue = setTimeout(() => {
      this.onCrash(new Error('it did not answer in time'))
      this.thread.terminate()
    }, DEADLINE_MS)
    try {
      return await this.thread.call(range)
    } finally {
      clearTimeout(overdue)
    }
  }

  close(): Promise<void> {
    return this.thread.close()
  }
}
