import { Utf8Writer } from '../../platform/bytes/utf8-writer.ts'
import { recordIdText } from '../../scoring/response.ts'
import type { ResultChunk, ResultRow, ResultWriter } from './result-writer.ts'

/** Before the first rows show what they take. */
const ROW_BYTES = 240

/** Lines of JSON: the result of a batch over HTTP, with the place in the file and in the log. */
export class NdjsonResults implements ResultWriter {
  private readonly chunk: ResultChunk
  private readonly text: Utf8Writer

  constructor(chunk: ResultChunk) {
    this.chunk = chunk
    this.text = new Utf8Writer(Buffer.allocUnsafeSlow(ROW_BYTES * (chunk.rows + 1)))
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
