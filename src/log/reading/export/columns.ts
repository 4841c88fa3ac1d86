/** Type of a column; `texts` and `integers` are lists. */
export type ColumnType = 'text' | 'integer' | 'number' | 'boolean' | 'moment' | 'integers' | 'texts'

interface Column {
  readonly name: string
  readonly type: ColumnType
  readonly isNullable: boolean
}

const column = (name: string, type: ColumnType): Column => ({ name, type, isNullable: false })
const nullable = (name: string, type: ColumnType): Column => ({ name, type, isNullable: true })

/**
 * The columns of an export, in their order; docs/evidence.md describes each. There is one row
 * for each applicant and model.
 */
export const COLUMNS = [
  column('request_id', 'text'),
  column('record_index', 'integer'),
  nullable('record_id', 'text'),
  nullable('reference', 'text'),
  column('scored_at', 'moment'),
  column('team_id', 'text'),
  column('deployment_id', 'text'),
  column('cache_version', 'integer'),
  column('key_id', 'text'),
  column('is_batch', 'boolean'),
  nullable('bucket', 'integer'),
  column('latency_ms', 'number'),
  column('model_id', 'text'),
  column('model_name', 'text'),
  column('model_version', 'text'),
  column('spec_sha256', 'text'),
  column('role', 'text'),
  nullable('challenger_id', 'text'),
  column('served', 'boolean'),
  nullable('score', 'number'),
  nullable('pd', 'number'),
  nullable('risk_grade', 'text'),
  nullable('warning_count', 'integer'),
  column('bins', 'integers'),
  column('outcomes', 'texts'),
  nullable('baseline_id', 'text'),
  nullable('engine_version', 'integer'),
] as const satisfies readonly Column[]

/** A row: the values of the columns as JSON texts, in their order. */
export type RowTexts = readonly string[]

export interface RowWriter {
  /** @param rows at least one; empty chunks are left out */
  write(rows: readonly RowTexts[]): Promise<string | Uint8Array>
  end(): Promise<string | Uint8Array>
  /** Ends it early or late; nothing else may be called after it. */
  close(): Promise<void>
}
