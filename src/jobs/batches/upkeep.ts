import { Periodic } from '../../platform/periodic.ts'
import { errorKey, resultKey } from './batch.ts'
import type { BatchFiles } from './files.ts'
import type { BatchStore, EndedBatch } from './store.ts'
import type { Uploads } from './uploads.ts'

interface BatchUpkeepOptions {
  readonly store: BatchStore
  readonly files: BatchFiles
  readonly received: Uploads
  readonly place: () => Promise<string>
  readonly keptMs: number
  /** Time for which a file that was sent is kept after its job has ended. */
  readonly inputKeptMs: number
  /** Receives what went wrong, and with which batch; null: with none of them. */
  readonly onFailed: (error: unknown, batchId: string | null) => void
}

const EVERY_MS = 30_000
const BATCHES_MAX = 20

/**
 * Removes what is no longer needed: a file that was sent, some minutes after its job has ended,
 * since a failover can lose that end; results and batches, some days later; files whose batch never
 * came to be. Several replicas may do it at once: each removal can be repeated. What can't be
 * removed is left to the next round, and does not hold up the others.
 */
export class BatchUpkeep {
  private readonly options: BatchUpkeepOptions
  readonly periodic: Periodic
  /** Batches and files that could not be removed, once a round, and starts without the store. */
  failures = 0

  constructor(options: BatchUpkeepOptions) {
    this.options = options
    const onFailed = (error: unknown) => options.onFailed(error, null)
    this.periodic = new Periodic({ round: () => this.removeAll(), everyMs: EVERY_MS, onFailed })
  }

  /** Does one round; failures go to `onFailed`. */
  async removeAll(): Promise<void> {
    await this.attempt(null, () => this.removeEnded())
    await this.attempt(null, () => this.settleUploads())
  }

  private async removeEnded(): Promise<void> {
    const { store, place, keptMs, inputKeptMs } = this.options
    for (let afterId: string | null = null; ; ) {
      const query = {
        place: await place(),
        keptMs,
        inputKeptMs,
        afterId,
        limit: BATCHES_MAX,
      }
      const ended: readonly EndedBatch[] = await store.ended(query)
      for (const one of ended) {
        if (this.periodic.signal.aborted) return
        await this.attempt(one.batch.id, () => this.remove(one))
      }
      if (ended.length < BATCHES_MAX) return
      afterId = ended.at(-1)?.batch.id ?? null
    }
  }

  private async settleUploads(): Promise<void> {
    const { store, files, received } = this.options
    for (const { batchId, key } of await received.unsettled()) {
      if (this.periodic.signal.aborted) return
      await this.attempt(batchId, async () => {
        if (await store.isGone(batchId)) await files.remove(key)
        await received.settle(batchId)
      })
    }
  }

  private async attempt(batchId: string | null, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.failures++
      this.options.onFailed(error, batchId)
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
