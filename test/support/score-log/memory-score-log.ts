import type { CompiledModel, ModelScore } from '../../../src/engine/index.ts'
import { AppError } from '../../../src/errors.ts'
import { type LoggedRequest, readLoggedRequest } from '../../../src/log/record/logged-request.ts'
import { type ModelParts, readHeadV4, readRecordV4 } from '../../../src/log/record/record-v4.ts'
import { RecordWriter } from '../../../src/log/record/record-writer.ts'
import type {
  LoggedFacts,
  OnOutcome,
  ResultsWriter,
  Score,
  ScoreLog,
} from '../../../src/log/score-log.ts'
import { FRAME_HEADER_BYTES } from '../../../src/log/spool/frames.ts'

/** A record as readers see it, and its bytes. */
export interface MemoryRecord extends LoggedRequest {
  readonly payload: Buffer
}

/** Keeps the records of answers in memory, as they are read from the spool. */
export class MemoryScoreLog implements ScoreLog {
  readonly records: MemoryRecord[] = []
  isFull = false
  /** What the next answer waits for. */
  safe: Promise<void> | null = null
  private readonly writer = new RecordWriter()

  append<T>(facts: LoggedFacts, score: Score<T>, onOutcome: OnOutcome<T>): boolean {
    if (this.isFull) throw new AppError('unavailable', 'full')
    this.writer.begin(facts.head, facts)
    const results = new WatchedResults(this.writer)
    const scored = score(results)
    if (scored === null) return false
    this.writer.end(scored.facts)
    const payload = Buffer.from(this.writer.frames().subarray(FRAME_HEADER_BYTES))
    this.writer.clear()
    this.records.push({ ...readLoggedRequest(payload, results.listModels(payload)), payload })
    if (this.safe === null) onOutcome(scored.response)
    else this.safe.then(() => onOutcome(scored.response), onOutcome)
    return true
  }
}

/** Notes the models whose results are written: reading their grades takes them. */
class WatchedResults implements ResultsWriter {
  private readonly writer: ResultsWriter
  private readonly models: CompiledModel[] = []
  private position = 0

  constructor(writer: ResultsWriter) {
    this.writer = writer
  }

  openRow(id: unknown): void {
    this.position = 0
    this.writer.openRow(id)
  }

  result(modelScore: ModelScore, parts: ModelParts, warningCount: number): void {
    this.models[this.position++] = modelScore.model
    this.writer.result(modelScore, parts, warningCount)
  }

  noResult(): void {
    this.position++
    this.writer.noResult()
  }

  closeRow(): void {
    this.writer.closeRow()
  }

  addRows(rows: Uint8Array, count: number): void {
    this.writer.addRows(rows, count)
  }

  listModels(payload: Buffer): Map<string, CompiledModel> {
    const models = new Map<string, CompiledModel>()
    const head = readHeadV4(readRecordV4(payload).headBytes)
    for (const [position, { modelId }] of head.models.entries()) {
      const model = this.models[position]
      if (model !== undefined) models.set(modelId, model)
    }
    return models
  }
}
