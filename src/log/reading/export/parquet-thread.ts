import { Worker } from 'node:worker_threads'
import { QUICK_START } from '../../../platform/quick-start-argv.ts'
import type { RowTexts, RowWriter } from './columns.ts'
import { ndjsonLine } from './ndjson.ts'

const WORKER = new URL('./parquet-worker.ts', import.meta.url)
const BOUNDS = { maxOldGenerationSizeMb: 1_024, maxYoungGenerationSizeMb: 96 }

/**
 * Writes Parquet in a thread of its own: a row group takes some tenths of a second. Rows go there
 * as lines of JSON, one call at a time, and each call returns the bytes that are finished.
 */
export class ParquetThread implements RowWriter {
  private readonly worker = new Worker(WORKER, {
    execArgv: [...QUICK_START],
    resourceLimits: BOUNDS,
  })
  private waiting: PromiseWithResolvers<Uint8Array> | null = null
  private failure: Error | null = null

  constructor() {
    // Always heard: the thread can also fail while nobody waits for it, and the next call says so.
    this.worker.on('message', (bytes: Uint8Array) => this.waiting?.resolve(bytes))
    this.worker.on('error', (error: Error) => this.fail(error))
    this.worker.on('exit', () => this.fail(new Error('the thread that writes Parquet has ended')))
  }

  write(rows: readonly RowTexts[]): Promise<Uint8Array> {
    let lines = ''
    for (const row of rows) lines += ndjsonLine(row)
    return this.ask(lines)
  }

  end(): Promise<Uint8Array> {
    return this.ask(null)
  }

  async close(): Promise<void> {
    await this.worker.terminate()
  }

  /** @param lines null: the end */
  private ask(lines: string | null): Promise<Uint8Array> {
    if (this.failure !== null) return Promise.reject(this.failure)
    const waiting = Promise.withResolvers<Uint8Array>()
    this.waiting = waiting
    this.worker.postMessage(lines)
    return waiting.promise
  }

  private fail(error: Error): void {
    this.failure ??= error
    this.waiting?.reject(this.failure)
  }
}
