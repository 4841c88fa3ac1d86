import type { Applicant } from '../../../engine/index.ts'
import { AppError } from '../../../errors.ts'
import { parseApplicants } from '../../../platform/json.ts'
import { readRecordId } from '../../../scoring/input-faults.ts'
import { type BatchFormat, type BatchPosition, NO_UNKNOWN_COLUMNS } from '../batch.ts'
import { CsvForm } from './csv-form.ts'
import { FileWindow, faultyRecord, type LineForm, LineReader } from './line-reader.ts'
import { ParquetReader } from './parquet-reader.ts'
import {
  type FileRecord,
  isLongId,
  LONG_ID,
  type ReadBytes,
  type ReadFeatures,
  type RecordReader,
} from './record.ts'

interface ReaderOptions {
  readonly read: ReadBytes
  readonly fileBytes: number
  readonly features: ReadFeatures
  /** The next position. */
  readonly position: BatchPosition
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

/** Lines of JSON: each is an object, as the body of a single score or a record of a batch. */
class NdjsonForm implements LineForm {
  readonly unknownColumns = NO_UNKNOWN_COLUMNS
  readonly hasHeader = false
  private readonly idField: string

  constructor(idField: string) {
    this.idField = idField
  }

  readHeader(): void {}

  read(line: string, number: number): FileRecord {
    let value: unknown
    try {
      value = parseApplicants(line)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      return faultyRecord(number, error.message.replace(/^the body/, 'the line'))
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return faultyRecord(number, 'the line is not a JSON object')
    }
    const applicant = value as Applicant
    const id = readRecordId(applicant[this.idField])
    if (isLongId(id)) return faultyRecord(number, LONG_ID)
    return { line: number, id, applicant, fault: null }
  }
}
