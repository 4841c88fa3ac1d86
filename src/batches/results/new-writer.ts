import type { BatchFormat } from '../batch.ts'
import { CsvResults } from './csv-results.ts'
import { NdjsonResults } from './ndjson-results.ts'
import { ParquetResults } from './parquet-results.ts'
import type { ResultChunk, ResultWriter } from './result-writer.ts'

/** Begins the results of a chunk. */
export function newResultWriter(format: BatchFormat, chunk: ResultChunk): ResultWriter {
  if (format === 'parquet') return new ParquetResults(chunk)
  return format === 'csv' ? new CsvResults(chunk) : new NdjsonResults(chunk)
}
