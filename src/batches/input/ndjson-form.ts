import type { Applicant } from '../../engine/index.ts'
import { AppError } from '../../errors.ts'
import { parseJson } from '../../platform/json.ts'
import { NO_UNKNOWN_COLUMNS } from '../batch.ts'
import { faultyRecord, type LineForm } from './line-reader.ts'
import { type FileRecord, isLongId, LONG_ID } from './record.ts'

/** Lines of JSON: each is an object, as the body of a single score or a record of a batch. */
export class NdjsonForm implements LineForm {
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
      value = parseJson(line)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      return faultyRecord(number, error.message.replace(/^the body/, 'the line'))
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return faultyRecord(number, 'the line is not a JSON object')
    }
    const applicant = value as Applicant
    const found = applicant[this.idField]
    const id = typeof found === 'string' || Number.isFinite(found) ? (found as string) : null
    if (isLongId(id)) return faultyRecord(number, LONG_ID)
    return { line: number, id, applicant, fault: null }
  }
}
