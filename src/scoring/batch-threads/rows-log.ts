import type { PreparedHead } from '../../score-log/record/prepared-head.ts'
import {
  RecordWriter,
  type RequestFacts,
  type ResponseFacts,
} from '../../score-log/record/record-writer.ts'
import type { OnLogged, ResultsWriter, ScoreLog } from '../../score-log/score-log.ts'

/** Writes the rows of one record at a time, for the score log of another thread. */
export class RowsLog implements ScoreLog {
  private readonly writer = new RecordWriter()
  private facts: ResponseFacts | null = null

  begin(head: PreparedHead, request: RequestFacts): ResultsWriter {
    this.writer.begin(head, request)
    return this.writer
  }

  end(facts: ResponseFacts, onLogged: OnLogged): void {
    this.facts = facts
    onLogged(null)
  }

  /** The rows of the record that ended last, and its facts. */
  take(): { readonly rows: Uint8Array<ArrayBuffer>; readonly facts: ResponseFacts } {
    const { writer, facts } = this
    if (facts === null) throw new Error('no record has ended')
    this.facts = null
    const rows = writer.copiedRows()
    writer.clear()
    return { rows, facts }
  }
}
