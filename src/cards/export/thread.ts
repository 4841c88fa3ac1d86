import pLimit from 'p-limit'
import { AppError, serviceBusy } from '../../errors.ts'
import { runInThread, ThreadBoundError, type ThreadBounds } from '../../platform/threads.ts'
import type { ReasonBaseline } from '../../scoring/reason-baseline.ts'
import type { ExportRequest } from './export-spec.ts'
import type { ExportTask, WorkerResult } from './worker.ts'

const WORKER = new URL('./worker.ts', import.meta.url)
const CONCURRENCY = 1
const WAITING_MAX = 8
/**
 * Measured: the largest card takes 120 MiB, and 400 MiB with the longest categories. V8 keeps the
 * memory of an ended thread for some seconds: with a small young generation that is 90 MB less.
 */
const BOUNDS: ThreadBounds = { memoryMb: 448, youngMemoryMb: 24, deadlineMs: 60_000 }

/**
 * Writes each large card in a thread of its own, one at a time, so that exports use at most one
 * core. The number of waiting exports is bounded, and so are the time and memory of each.
 */
export class ExportThread {
  private readonly limit = pLimit(CONCURRENCY)
  private readonly bounds: ThreadBounds

  constructor(bounds: ThreadBounds = BOUNDS) {
    this.bounds = bounds
  }

  /**
   * @throws AppError like `exportSpec`; `unavailable` when too many wait, `not_exportable` when the
   *   card takes too much
   */
  async run(
    specText: string,
    request: ExportRequest,
    baseline: ReasonBaseline | null,
  ): Promise<Buffer> {
    if (this.limit.pendingCount >= WAITING_MAX) {
      throw serviceBusy()
    }
    const result = await this.limit(() => this.write({ specText, request, baseline }))
    if (!result.ok) throw new AppError(result.code, result.message, { details: result.details })
    const { buffer, byteOffset, byteLength } = result.bytes
    return Buffer.from(buffer, byteOffset, byteLength)
  }

  private async write(task: ExportTask): Promise<WorkerResult> {
    try {
      return await runInThread<WorkerResult>(WORKER, task, this.bounds)
    } catch (error) {
      if (!(error instanceof ThreadBoundError)) throw error
      // The card is too large: a 422, because a retry would fail the same way.
      const message = `writing this card in the wanted language takes ${error.message}`
      throw new AppError('not_exportable', message)
    }
  }
}
