import type { LOG_EXPORT_FORMATS } from '../../../schemas/scores.ts'
import { CsvWriter } from './csv.ts'
import { NdjsonWriter } from './ndjson.ts'
import { ParquetThread } from './parquet-thread.ts'
import type { RowWriter } from './row-writer.ts'

export type LogExportFormat = (typeof LOG_EXPORT_FORMATS)[number]

export function rowWriterOf(format: LogExportFormat): RowWriter {
  if (format === 'parquet') return new ParquetThread()
  return format === 'csv' ? new CsvWriter() : new NdjsonWriter()
}
