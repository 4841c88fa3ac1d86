import { Utf8Writer } from '../../platform/bytes/utf8-writer.ts'
import { csvCell } from '../../platform/csv-cell.ts'
import {
  columnsOf,
  type ResultChunk,
  type ResultColumn,
  type ResultRow,
  type ResultWriter,
} from './result-writer.ts'

const ROW_BYTES = 160
const LINE_END = '\r\n'

/** CSV by RFC 4180, see `csvCell`. The first chunk alone has the header. */
export class CsvResults implements ResultWriter {
  private readonly columns: readonly ResultColumn[]
  private readonly text: Utf8Writer

  constructor(chunk: ResultChunk) {
    this.columns = columnsOf(chunk)
    this.text = new Utf8Writer(Buffer.allocUnsafeSlow(ROW_BYTES * (chunk.rows + 1)))
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
