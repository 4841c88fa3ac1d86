import {
  type RecordV4,
  readHeadV4,
  readRecordV4,
  readRowsV4,
} from '../../../src/log/record/record-v4.ts'
import type { ServedResults } from '../../../src/log/rollups/rollup.ts'
import { type PayloadOrder, type PayloadResult, recordPayload } from './record-payloads.ts'

export interface RecordOrder extends Omit<PayloadOrder, 'models' | 'rows'> {
  readonly recordIds?: readonly (string | number | null)[]
  /** One score for each applicant from each model, NaN if it failed; the champion's first. */
  readonly scores?: readonly (readonly number[])[]
}

const FEATURES = 20
const NO_GRADE = 0xffff_ffff

/**
 * A record as a request leaves it: of one applicant with a score of 650, unless ordered otherwise.
 * No database knows its models.
 */
export function scoreRecord(order: RecordOrder = {}): RecordV4 {
  const { scores = [[650]], recordIds, ...rest } = order
  const models = scores.map((_, position) => ({
    modelId: `mod_${position}`,
    challengerId: position === 0 ? null : `ch_${position}`,
    features: FEATURES,
    bytesPerCell: 1 as const,
  }))
  const rows = (scores[0] ?? []).map((_, row) => ({
    id: recordIds?.[row] ?? (rest.isBatch ? `id ${row}` : null),
    results: scores.map((ofModel) => makeResult(ofModel[row] ?? 0)),
  }))
  return readRecordV4(recordPayload({ ...rest, models, rows }))
}

function makeResult(score: number): PayloadResult | null {
  if (Number.isNaN(score)) return null
  const pd = 1 / (1 + Math.exp((score - 487.123) / 28.8539))
  const cells = Array.from({ length: FEATURES }, (_, feature) => 4 + (feature % 8))
  return { score, pd, grade: NO_GRADE, warnings: 0, cells }
}

/** The results of the model that answered, as rollups count them. */
export function servedResults(record: RecordV4): ServedResults {
  const rows = readRowsV4(record, readHeadV4(record.headBytes))
  const served = rows.map(({ results }) => results[record.served])
  return {
    scoredAtMs: record.scoredAtMs,
    latencyMs: record.latencyUs / 1_000,
    scores: served.map((result) => result?.score ?? Number.NaN),
    pds: served.map((result) => result?.pd ?? Number.NaN),
  }
}

/** The deployment of a record. */
export function makeDeployment(record: RecordV4): string {
  return readHeadV4(record.headBytes).deploymentId
}
