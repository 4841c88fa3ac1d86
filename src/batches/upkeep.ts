import { AppError } from '../errors.ts'
import type { Batch } from './batch.ts'
import type { BatchFiles } from './files.ts'
import { errorKey, resultKey } from './parts.ts'

/** A batch whose job has ended, with something to remove. */
export interface EndedBatch {
  readonly batch: Batch
  /** Whether its results are no longer kept. */
  readonly isOver: boolean
}

export interface BatchUpkeepStore {
  /** Batches of this place that have ended and whose upload or results are to be removed. */
  ended(place: string, keptMs: number, limit: number): Promise<EndedBatch[]>
  noteInputRemoved(batchId: string): Promise<void>
  remove(batchId: string): Promise<void>
}

interface BatchUpkeepOptions {
  readonly store: BatchUpkeepStore
  readonly files: BatchFiles
  readonly place: () => Promise<string>
  readonly keptMs: number
  readonly onFailed: (error: unknown) => void
}

const EVERY_MS = 30_000
const BATCHES_MAX = 20

/**
 * Removes what is no longer needed: a file that was sent, once its job has ended; results and
 * batches, some days later. Several replicas may do it at once: each removal can be repeated.
 */
export class BatchUpkeep {
  private readonly options: BatchUpkeepOptions
  private timer: NodeJS.Timeout | undefined
  private round: Promise<void> = Promise.resolve()
  private isClosed = false

  constructor(options: BatchUpkeepOptions) {
    this.options = options
  }

  start(): void {
    if (this.isClosed) return
    this.timer = setTimeout(() => {
      this.round = this.removeAll().finally(() => this.start())
    }, EVERY_MS).unref()
  }

  async close(): Promise<void> {
    this.isClosed = true
    clearTimeout(this.timer)
    await this.round
  }

  /** One round; failures go to `onFailed`. */
  async removeAll(): Promise<void> {
    const { store, place, keptMs, onFailed } = this.options
    try {
      for (;;) {
        const ended = await store.ended(await place(), keptMs, BATCHES_MAX)
        for (const one of ended) {
          if (this.isClosed) return
          await this.remove(one)
        }
        if (ended.length < BATCHES_MAX) return
      }
    } catch (error) {
      // The next round tries again.
      const isAway = error instanceof AppError && error.code === 'unavailable'
      if (!isAway) onFailed(error)
    }
  }

  private async remove({ batch, isOver }: EndedBatch): Promise<void> {
    const { store, files } = this.options
    if (batch.input.isUpload) {
      await files.remove(batch.input.key)
      await store.noteInputRemoved(batch.id)
    }
    if (!isOver) return
    // One more: a run that died may have written a part that it could not store.
    for (let chunk = 0; chunk <= batch.chunks; chunk++) {
      await files.remove(resultKey(batch, chunk))
      if (chunk === batch.chunks || batch.errorChunks.includes(chunk)) {
        await files.remove(errorKey(batch, chunk))
      }
    }
    await store.remove(batch.id)
  }
}
