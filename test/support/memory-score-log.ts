import { AppError } from '../../src/errors.ts'
import { FRAME_HEADER_BYTES } from '../../src/scorelog/frames.ts'
import { readRecord, type ScoreRecord } from '../../src/scorelog/record.ts'
import type { ResultsWriter, ScoreLog, Told } from '../../src/scorelog/score-log.ts'
import { RecordWriter } from '../../src/scorelog/writer.ts'

/** Keeps the records of answers in memory, as they are read from the spool. */
export class MemoryScoreLog implements ScoreLog {
  readonly records: ScoreRecord[] = []
  isFull = false
  /** What the next answer waits for. */
  safe: Promise<void> | null = null
  private readonly writer = new RecordWriter()

  begin(head: Buffer): ResultsWriter {
    if (this.isFull) throw new AppError('unavailable', 'full')
    this.writer.begin(head)
    return this.writer
  }

  end(_requestId: string, facts: string, told: Told): void {
    this.writer.end(facts)
    this.records.push(readRecord(this.writer.frames().subarray(FRAME_HEADER_BYTES)))
    this.writer.clear()
    if (this.safe === null) told(null)
    else this.safe.then(() => told(null), told)
  }
}
