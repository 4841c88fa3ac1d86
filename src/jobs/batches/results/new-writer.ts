import { Utf8Writer } from '../../../platform/bytes/utf8-writer.ts'
import { csvCell } from '../../../platform/csv-cell.ts'
import { recordIdText } from '../../../scoring/response.ts'
import type { BatchFormat } from '../batch.ts'
import { ParquetResults } from './parquet-results.ts'
import {
  type ResultChunk,
  type ResultColumn,
  type ResultRow,
  type ResultWriter,
  readColumns,
} from './result-writer.ts'

export function newResultWriter(format: BatchFormat, chunk: ResultChunk): ResultWriter {
  if (format === 'parquet') return new ParquetResults(chunk)
  return format === 'csv' ? new CsvResults(chunk) : new NdjsonResults(chunk)
}

/** Memory for a row before the first ones show what they take. */
const JSON_ROW_BYTES = 240
const CSV_ROW_BYTES = 160
const LINE_END = '\r\n'

/** CSV by RFC 4180, see `csvCell`. The first chunk alone has the header. */
class CsvResults implements ResultWriter {
  private readonly columns: readonly ResultColumn[]
  private readonly text: Utf8Writer

  constructor(chunk: ResultChunk) {
    this.columns = readColumns(chunk)
    this.text = new Utf8Writer(Buffer.allocUnsafeSlow(CSV_ROW_BYTES * (chunk.rows + 1)))
    if (chunk.isFirst) {
      this.text.writeString(this.columns.map(({ name }) => csvCell(name)).join() + LINE_END)
    }
  }

  add(row: ResultRow): void {
    let line = ''
    for (const { value } of this.columns) line += `${csvCell(value(row))},`
    this.text.writeString(line.slice(0, -1) + LINE_END)
  }

  end(): Uint8Array {
    return this.text.written
  }
}

/** Lines of JSON: the result of a batch over HTTP, with the place in the file and in the log. */
class NdjsonResults implements ResultWriter {
  private readonly chunk: ResultChunk
  private readonly text: Utf8Writer

  constructor(chunk: ResultChunk) {
    this.chunk = chunk
    this.text = new Utf8Writer(Buffer.allocUnsafeSlow(JSON_ROW_BYTES * (chunk.rows + 1)))
  }

  add({ record, index, shadowText }: ResultRow): void {
    const { model, requestId, withContributions, idField } = this.chunk
    const place = `,"line":${record.line},"request_id":"${requestId}","record_index":${index}`
    model.responseParts.record(this.text, model.modelScore, record.applicant, {
      isFirst: true,
      idText: recordIdText(record.id),
      withContributions,
      furtherText: shadowText + place,
      reasons: null,
      reservedName: idField,
    })
    this.text.writeString('\n')
  }

  end(): Uint8Array {
    return this.text.written
  }
}
