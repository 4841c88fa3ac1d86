import type { ModelScore } from '../../../engine/index.ts'
import type { ServingModel } from '../../../scoring/serving.ts'
import type { FileRecord } from '../input/record.ts'

/** One applicant that was scored. */
export interface ResultRow {
  readonly record: FileRecord & { readonly applicant: NonNullable<FileRecord['applicant']> }
  /** Position in the request of the log, from 0. */
  readonly index: number
  /** Property `shadow_scores` with a comma before it; empty without. */
  readonly shadowText: string
}

export interface ResultChunk {
  readonly requestId: string
  readonly model: ServingModel
  readonly isFirst: boolean
  readonly withContributions: boolean
  readonly withShadowScores: boolean
  /** Key of an applicant that is not a variable. */
  readonly idField: string
  /** Most rows. */
  readonly rows: number
}

export interface ResultWriter {
  /** Takes the result that the `ModelScore` of the model holds just now. */
  add(row: ResultRow): void
  /** The part of the results; its memory belongs to the caller. */
  end(): Uint8Array
}

/** Columns of the results as CSV and Parquet. */
export interface ResultColumn {
  readonly name: string
  readonly type: 'text' | 'whole' | 'number'
  readonly value: (row: ResultRow) => string | number | null
}

/** The columns of a chunk, which are the same for all chunks of a batch. */
export function readColumns(chunk: ResultChunk): ResultColumn[] {
  const { model, idField, requestId } = chunk
  const { modelScore } = model
  const { featureNames } = modelScore.model
  const points = featureNames.map(
    (name, feature): ResultColumn => ({
      name: `points_${name}`,
      type: 'number',
      value: () => modelScore.readPoints(feature),
    }),
  )
  const shadow: ResultColumn = {
    name: 'shadow_scores',
    type: 'text',
    value: ({ shadowText }) => shadowText.slice(SHADOW_NAME.length) || null,
  }
  return [
    { name: 'line', type: 'whole', value: ({ record }) => record.line },
    { name: 'id', type: 'text', value: ({ record: { id } }) => id },
    { name: 'score', type: 'number', value: () => readFinite(modelScore, 'score') },
    { name: 'risk_grade', type: 'text', value: () => modelScore.grade },
    { name: 'pd', type: 'number', value: () => readFinite(modelScore, 'pd') },
    ...(chunk.withContributions ? points : []),
    {
      name: 'warnings',
      type: 'text',
      value: ({ record }) => model.responseParts.warnings(modelScore, record.applicant, idField),
    },
    ...(chunk.withShadowScores ? [shadow] : []),
    { name: 'request_id', type: 'text', value: () => requestId },
    { name: 'record_index', type: 'whole', value: ({ index }) => index },
  ]
}

const SHADOW_NAME = ',"shadow_scores":'

/** Returns null for what is not finite, as JSON does. */
function readFinite(modelScore: ModelScore, name: 'score' | 'pd'): number | null {
  const value = modelScore[name]
  return Number.isFinite(value) ? value : null
}
