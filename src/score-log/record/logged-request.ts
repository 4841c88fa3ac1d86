import type { CellModel } from '../../engine/index.ts'
import { isRecordV4, readRecord } from './record.ts'
import type { ModelResults, ScoreRecord } from './record-v3.ts'
import {
  cellsOf,
  type RecordModel,
  type RecordResult,
  type RecordV4,
  readHeadV4,
  readRowsV4,
} from './record-v4.ts'

export interface LoggedModel {
  readonly modelId: string
  readonly role: 'champion' | 'challenger'
  readonly challengerId: string | null
  /** Null in the first form, and for a challenger that could not be loaded. */
  readonly specSha256: string | null
  readonly baselineId: string | null
}

export interface LoggedResult {
  readonly score: number
  /** Null if the model has no scale. */
  readonly pd: number | null
  /** Null if the score has no grade. */
  readonly grade: string | null
  readonly warningCount: number
  /**
   * Cell of each feature in spec order, see `cells.ts` of the engine. In the first form 4 + the bin
   * that gave the points, or -1 if none did and the reason is unknown.
   */
  readonly cells: readonly number[]
}

/** One applicant. */
export interface LoggedRow {
  readonly id: string | number | null
  /** One for each model; null if it failed. */
  readonly results: readonly (LoggedResult | null)[]
}

/** One answered scoring request as readers see it, whatever form it is stored in. */
export interface LoggedRequest {
  readonly requestId: string
  readonly scoredAtMs: number
  /** Latency of the whole request. */
  readonly latencyMs: number
  readonly teamId: string
  readonly deploymentId: string
  readonly cacheVersion: number
  readonly keyId: string
  /** Bucket of a live split, else null. */
  readonly bucket: number | null
  /** The request's `X-Reference-Id`. */
  readonly reference: string | null
  readonly isBatch: boolean
  /** Position in `models` of the one that answered. */
  readonly served: number
  /** Null in the first form. */
  readonly engineVersion: number | null
  /** Champion first. */
  readonly models: readonly LoggedModel[]
  readonly rows: readonly LoggedRow[]
}

/** Cell of the first bin of a spec. */
const FIRST_BIN_CELL = 4
const UNKNOWN_CELL = -1

/**
 * Reads a record of either form.
 *
 * @param models those of the record by id, at least those whose results have a grade
 * @throws Error that says what is wrong with the record, without quoting it
 */
export function readLoggedRequest(
  payload: Buffer,
  models: ReadonlyMap<string, CellModel>,
): LoggedRequest {
  const record = readRecord(payload)
  return isRecordV4(record) ? ofVersion4(record, models) : ofVersion3(record)
}

function ofVersion4(record: RecordV4, models: ReadonlyMap<string, CellModel>): LoggedRequest {
  const head = readHeadV4(record.headBytes)
  return {
    requestId: record.requestId,
    scoredAtMs: record.scoredAtMs,
    latencyMs: record.latencyUs / 1_000,
    teamId: head.teamId,
    deploymentId: head.deploymentId,
    cacheVersion: head.cacheVersion,
    keyId: record.keyId,
    bucket: record.bucket,
    reference: record.reference,
    isBatch: record.isBatch,
    served: record.served,
    engineVersion: head.engineVersion,
    models: head.models.map(({ modelId, challengerId, specSha256, baselineId }) => ({
      modelId,
      role: challengerId === null ? 'champion' : 'challenger',
      challengerId,
      specSha256,
      baselineId,
    })),
    rows: readRowsV4(record, head).map(({ id, results }) => ({
      id,
      results: head.models.map((model, position) => {
        const result = results[position] ?? null
        return result === null ? null : loggedResult(result, model, models)
      }),
    })),
  }
}

function loggedResult(
  { score, pd, grade, warningCount, cellBytes }: RecordResult,
  { modelId, bytesPerCell }: RecordModel,
  models: ReadonlyMap<string, CellModel>,
): LoggedResult {
  let numbers: readonly number[] | null = null
  return {
    score,
    pd: Number.isNaN(pd) ? null : pd,
    grade: grade === null ? null : gradeName(models.get(modelId), grade),
    warningCount,
    // Made when they are read: who wants one record of a batch reads those of one.
    get cells() {
      numbers ??= cellsOf(cellBytes, bytesPerCell)
      return numbers
    },
  }
}

function gradeName(model: CellModel | undefined, grade: number): string {
  const name = model?.grades.names[grade]
  if (name === undefined) throw new Error('the record has a grade that its model lacks')
  return name
}

function ofVersion3(record: ScoreRecord): LoggedRequest {
  const { models, recordIds } = record
  const rowCount = models[0]?.scores.length ?? 0
  return {
    requestId: record.requestId,
    scoredAtMs: record.scoredAtMs,
    latencyMs: record.latencyMs,
    teamId: record.teamId,
    deploymentId: record.deploymentId,
    cacheVersion: record.cacheVersion,
    keyId: record.keyId,
    bucket: record.bucket,
    reference: null,
    isBatch: record.isBatch,
    served: record.served,
    engineVersion: null,
    models: models.map(({ modelId, role, challengerId }) => ({
      modelId,
      role,
      challengerId,
      specSha256: null,
      baselineId: null,
    })),
    rows: rowsOf(models, recordIds, rowCount),
  }
}

function rowsOf(
  models: readonly ModelResults[],
  recordIds: ScoreRecord['recordIds'],
  rowCount: number,
): LoggedRow[] {
  // Each of these arrays is made when it is read.
  const arrays = models.map(({ scores, pds, grades, warningCounts, bins }) => ({
    scores,
    pds,
    grades,
    warningCounts,
    bins,
  }))
  return Array.from({ length: rowCount }, (_, row) => ({
    id: recordIds?.[row] ?? null,
    results: arrays.map(({ scores, pds, grades, warningCounts, bins }) => {
      const score = scores[row] ?? null
      if (score === null) return null
      return {
        score,
        pd: pds[row] ?? null,
        grade: grades[row] ?? null,
        warningCount: warningCounts[row] ?? 0,
        cells: (bins[row] ?? []).map((bin) => (bin < 0 ? UNKNOWN_CELL : FIRST_BIN_CELL + bin)),
      }
    }),
  }))
}
