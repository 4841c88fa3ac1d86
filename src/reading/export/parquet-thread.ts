import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { QUICK_START } from '../../platform/quick-start-argv.ts'
import type { RowTexts } from './columns.ts'
import { ndjsonLine } from './ndjson.ts'
import type { RowWriter } from './row-writer.ts'

const WORKER = new URL('./parquet-worker.ts', import.meta.url)
const MEMORY_MB = 1_024

/**
 * Writes Parquet in a thread of its own: a row group takes some tenths of a second. Rows go there
 * as lines of JSON, one call at a time, and each call returns the bytes that are finished.
 */
export class ParquetThread implements RowWriter {
  private readonly worker = new Worker(WORKER, {
    execArgv: [...QUICK_START],
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
  })

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
  private async ask(lines: string | null): Promise<Uint8Array> {
    this.worker.postMessage(lines)
    // An error of the thread rejects this; a thread that ended says no more.
    const ending = new AbortController()
    const exit = once(this.worker, 'exit', { signal: ending.signal }).then(() => {
      throw new Error('the thread that writes Parquet has ended')
    })
    try {
      const [bytes] = await Promise.race([once(this.worker, 'message'), exit])
      return bytes
    } finally {
      exit.catch(() => undefined)
      ending.abort()
    }
  }
}
