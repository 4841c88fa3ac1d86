import type { LOG_EXPORT_FORMATS } from '../../../../schemas/scores.ts'
import { csvCell } from '../../../platform/csv-cell.ts'
import { COLUMNS, type RowTexts, type RowWriter } from './columns.ts'
import { NdjsonWriter } from './ndjson.ts'
import { ParquetThread } from './parquet-thread.ts'
export type LogExportFormat = (typeof LOG_EXPORT_FORMATS)[number]

export function makeRowWriter(format: LogExportFormat): RowWriter {
  if (format === 'parquet') return new ParquetThread()
  return format === 'csv' ? new CsvWriter() : new NdjsonWriter()
}

const LINE_END = '\r\n'
const HEADER = COLUMNS.map(({ name }) => name).join() + LINE_END

/** See `csvCell`. */
class CsvWriter implements RowWriter {
  private head = HEADER

  async write(rows: readonly RowTexts[]): Promise<string> {
    let text = this.head
    this.head = ''
    for (const row of rows) text += row.map(csvField).join() + LINE_END
    return text
  }

  async end(): Promise<string> {
    return this.head
  }

  async close(): Promise<void> {}
}

const IS_NUMBER = /^-?\d/

function csvField(json: string): string {
  if (json === 'null') return ''
  if (IS_NUMBER.test(json)) return json
  if (!json.startsWith('"')) return csvCell(json)
  return csvCell(json.includes('\\') ? JSON.parse(json) : json.slice(1, -1))
}
