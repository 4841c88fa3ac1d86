import { isUnmatched, type ModelScore, WrittenCategories } from '../../engine/index.ts'
import { AppError, type ErrorCode } from '../../errors.ts'
import { FRAME_HEADER_BYTES, RecordWriter } from '../../log/index.ts'
import { Utf8Writer } from '../../platform/bytes/utf8-writer.ts'
import type { ChallengerFailures } from '../../scoring/challenger-failures.ts'
import {
  assignModel,
  CHAMPION,
  type Evaluation,
  logResults,
  modelAt,
  scoreOnAllModels,
  shadowScores,
  validateAgainstAll,
} from '../../scoring/evaluate-models.ts'
import { InputViolations, isWithoutWarnings } from '../../scoring/input-faults.ts'
import type { ServingDeployment } from '../../scoring/serving.ts'
import type { BatchOptions } from './batch.ts'
import type { FileRecord, ReadFeatures, Records } from './input/record.ts'
import { newResultWriter } from './results/new-writer.ts'
import type { ResultChunk, ResultRow } from './results/result-writer.ts'

interface ScoredChunk {
  readonly results: Uint8Array
  /** Lines of JSON; empty without errors. */
  readonly errors: Uint8Array
  /** Record of the score log, see `record-v4.ts`; null where nobody was scored. */
  readonly payload: Buffer | null
  readonly scored: number
  readonly faulty: number
  readonly warned: number
  /** See `BatchCounts`. */
  readonly unmatched: Readonly<Record<string, number>>
}

interface ChunkFacts {
  readonly requestId: string
  readonly scoredAtMs: number
  /** True if it is the first of the file. */
  readonly isFirst: boolean
}

interface ChunkScorerOptions {
  readonly batchId: string
  readonly by: string
  readonly deployment: ServingDeployment
  readonly options: BatchOptions
  readonly failures: ChallengerFailures
}

/** Bytes of the log that a chunk may take. */
const LOG_BYTES = 8 * 1024 * 1024
const SAMPLE_ROWS = 1_000
const ERROR_BYTES = 1024
const EMPTY = new Uint8Array()

/**
 * Scores the applicants of a file, chunk after chunk, on one state of a deployment, as a batch over
 * HTTP is scored: the same code, so the same bits. Errors are put apart instead of refusing all.
 *
 * What a chunk gives follows from its records and its request id alone, but for the latency in the
 * log.
 */
export class ChunkScorer {
  private readonly batchId: string
  private readonly by: string
  private readonly deployment: ServingDeployment
  private readonly options: BatchOptions
  private readonly failures: ChallengerFailures
  private readonly log = new RecordWriter()
  private readonly isStrict: boolean

  constructor({ batchId, by, deployment, options, failures }: ChunkScorerOptions) {
    this.batchId = batchId
    this.by = by
    this.deployment = deployment
    this.options = options
    this.failures = failures
    this.isStrict = options.strictMode || deployment.state.strictMode
  }

  /** Most applicants of a chunk, so that its record in the log has a usual size. */
  get recordsMax(): number {
    const sample = new Array<null>(SAMPLE_ROWS).fill(null)
    const bytes = this.deployment.logBytes.ofBatch(sample) / SAMPLE_ROWS
    return Math.max(1, Math.floor(LOG_BYTES / bytes))
  }

  /** The meaning of the columns of a file; the champion's type of a feature goes first. */
  get features(): ReadFeatures {
    const { champion, challengers } = this.deployment
    const models = [champion, ...challengers.flatMap(({ serving }) => serving ?? [])]
    const categories = new Map<string, WrittenCategories | null>()
    for (const { modelScore } of models.toReversed()) {
      for (const { name, isNumeric, categories: table } of modelScore.model.features) {
        categories.set(name, isNumeric ? null : new WrittenCategories(table.map.keys()))
      }
    }
    return { categories, idField: this.options.idField, isStrict: this.isStrict }
  }

  score(records: Records, facts: ChunkFacts): ScoredChunk {
    const { routingKey } = this.options
    const { bucket, position } = assignModel(this.deployment, routingKey ?? this.batchId)
    const served = this.deployment.challengers[position]?.serving === null ? CHAMPION : position
    const chunk = this.scoreOn(records, { ...facts, bucket, served })
    if (chunk !== null) return chunk
    const byChampion = this.scoreOn(records, { ...facts, bucket, served: CHAMPION })
    if (byChampion === null) throw new Error('the champion has no result for an applicant')
    return byChampion
  }

  /** @returns null when the challenger that answers failed on an applicant */
  private scoreOn(
    records: Records,
    {
      requestId,
      scoredAtMs,
      isFirst,
      bucket,
      served,
    }: ChunkFacts & { readonly bucket: number | null; readonly served: number },
  ): ScoredChunk | null {
    const startedAtMs = performance.now()
    const { deployment, log, options } = this
    const model = modelAt(deployment, served)
    const writer = newResultWriter(
      options.results,
      this.makeChunk({ requestId, isFirst }, served, records),
    )
    const errors = new ErrorLines()
    log.clear()
    log.begin(deployment.logHead, { requestId, keyId: this.by, reference: null, key: null })
    let violations = new InputViolations(this.isStrict)
    let scored = 0
    let warned = 0
    const unmatched = new Map<string, number>()
    for (const record of records) {
      if (!hasApplicant(record)) {
        errors.add(record, 'invalid_request', record.fault ?? 'the line has no applicant')
        continue
      }
      const evaluation = scoreOnAllModels(
        deployment,
        record.applicant,
        options.idField,
        this.failures,
      )
      if (evaluation.failed?.has(served)) return null
      if (validateAgainstAll(evaluation, violations, WHOLE_LINE)) {
        errors.addViolations(record, violations)
        violations = new InputViolations(this.isStrict)
        continue
      }
      writer.add({ record, index: scored, shadowText: shadowScores(evaluation) })
      this.logRow(evaluation, record)
      if (!isWithoutWarnings(model.modelScore, record.applicant, 'batch')) warned++
      countUnmatched(unmatched, model.modelScore)
      scored++
    }
    const latencyMs = performance.now() - startedAtMs
    log.end({ scoredAtMs, latencyMs, bucket, served: served + 1, isBatch: true })
    const payload = scored === 0 ? null : Buffer.from(log.frames().subarray(FRAME_HEADER_BYTES))
    const faulty = records.length - scored
    const counts = { scored, faulty, warned, unmatched: Object.fromEntries(unmatched) }
    return { results: writer.end(), errors: errors.bytes(), payload, ...counts }
  }

  private logRow(evaluation: Evaluation, { id }: FileRecord): void {
    logResults(this.log, evaluation, id, 'batch')
  }

  private makeChunk(
    { requestId, isFirst }: Pick<ChunkFacts, 'requestId' | 'isFirst'>,
    served: number,
    records: Records,
  ): ResultChunk {
    const { challengers, state } = this.deployment
    const { withContributions, idField } = this.options
    return {
      requestId,
      model: modelAt(this.deployment, served),
      isFirst,
      withContributions,
      withShadowScores: challengers.length > 0 && state.shadowMode,
      idField,
      rows: records.length,
    }
  }
}

/** An error names the feature alone: its line stands beside it. */
const WHOLE_LINE = { property: '', index: null } as const

function hasApplicant(record: FileRecord): record is ResultRow['record'] {
  return record.applicant !== null
}

function countUnmatched(counts: Map<string, number>, modelScore: ModelScore): void {
  if (modelScore.unmatchedCount === 0) return
  for (const { name, index } of modelScore.model.features) {
    if (!isUnmatched(modelScore.readOutcome(index))) continue
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
}

class ErrorLines {
  private text: Utf8Writer | null = null

  add({ line, id }: FileRecord, error: ErrorCode, message: string): void {
    this.text ??= new Utf8Writer(Buffer.allocUnsafeSlow(ERROR_BYTES))
    this.text.writeString(`${JSON.stringify({ line, id, error, message })}\n`)
  }

  addViolations(record: FileRecord, violations: InputViolations): void {
    try {
      violations.throwIfAny()
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      const message = (error.details ?? []).map((detail) => `${detail.path} ${detail.message}`)
      this.add(record, error.code, listed(message))
    }
  }

  bytes(): Uint8Array {
    return this.text?.written ?? EMPTY
  }
}

const LISTED_MAX = 10

function listed(messages: readonly string[]): string {
  const more = messages.length - LISTED_MAX
  const text = messages.slice(0, LISTED_MAX).join('; ')
  return more > 0 ? `${text}; and ${more} more` : text
}
