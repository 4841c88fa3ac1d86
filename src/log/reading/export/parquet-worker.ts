import { parentPort } from 'node:worker_threads'
import { goBehindRequests } from '../../../platform/threads.ts'
import { ParquetRows } from './parquet-rows.ts'

goBehindRequests()

const rows = new ParquetRows()

// Lines of JSON, or null at the end; see `ParquetThread`.
parentPort?.on('message', (lines: string | null) => {
  const bytes = lines === null ? rows.end() : rows.write(lines)
  parentPort?.postMessage(bytes)
})
