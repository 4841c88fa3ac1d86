import type { CompiledModel, ModelScore } from '../../../src/engine/index.ts'
import { AppError } from '../../../src/errors.ts'
import {
  type LoggedRequest,
  readLoggedRequest,
} from '../../../src/score-log/record/logged-request.ts'
import type { ModelParts } from '../../../src/score-log/record/model-parts.ts'
import type { PreparedHead } from '../../../src/score-log/record/prepared-head.ts'
import { readHeadV4, readRecordV4 } from '../../../src/score-log/record/record-v4.ts'
import {
  RecordWriter,
  type RequestFacts,
  type ResponseFacts,
} from '../../../src/score-log/record/record-writer.ts'
import type { OnLogged, ResultsWriter, ScoreLog } from '../../../src/score-log/score-log.ts'
import { FRAME_HEADER_BYTES } from '../../../src/score-log/spool/frames.ts'

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
  private results = new WatchedResults(this.writer)

  begin(head: PreparedHead, request: RequestFacts): ResultsWriter {
    if (this.isFull) throw new AppError('unavailable', 'full')
    this.writer.begin(head, request)
    this.results = new WatchedResults(this.writer)
    return this.results
  }

  end(facts: ResponseFacts, onLogged: OnLogged): void {
    this.writer.end(facts)
    const payload = Buffer.from(this.writer.frames().subarray(FRAME_HEADER_BYTES))
    this.writer.clear()
    this.records.push({ ...readLoggedRequest(payload, this.results.modelsOf(payload)), payload })
    if (this.safe === null) onLogged(null)
    else this.safe.then(() => onLogged(null), onLogged)
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

  modelsOf(payload: Buffer): Map<string, CompiledModel> {
    const models = new Map<string, CompiledModel>()
    const head = readHeadV4(readRecordV4(payload).headBytes)
    for (const [position, { modelId }] of head.models.entries()) {
      const model = this.models[position]
      if (model !== undefined) models.set(modelId, model)
    }
    return models
  }
}
