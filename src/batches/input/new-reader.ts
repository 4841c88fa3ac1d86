import type { BatchFormat, BatchPosition } from '../batch.ts'
import { CsvForm } from './csv-form.ts'
import { FileWindow } from './file-window.ts'
import { LineReader } from './line-reader.ts'
import { NdjsonForm } from './ndjson-form.ts'
import { ParquetReader } from './parquet-reader.ts'
import type { ReadBytes, ReadFeatures, RecordReader } from './record.ts'

export interface ReaderOptions {
  readonly read: ReadBytes
  readonly fileBytes: number
  readonly features: ReadFeatures
  /** Where the work goes on. */
  readonly position: BatchPosition
  /** Most records of a chunk. */
  readonly recordsMax: number
}

/** Opens a file of applicants. */
export function newReader(format: BatchFormat, options: ReaderOptions): RecordReader {
  if (format === 'parquet') return new ParquetReader(options)
  const { read, fileBytes, features, position, recordsMax } = options
  const window = new FileWindow(read, fileBytes)
  const form = format === 'csv' ? new CsvForm(features) : new NdjsonForm(features.idField)
  return new LineReader({ window, form, position, recordsMax })
}
