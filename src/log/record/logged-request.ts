import type { CellModel } from '../../engine/index.ts'
import {
  findCells,
  type RecordHead,
  type RecordResult,
  readHeadV4,
  readRecordV4,
  readRowsV4,
} from './record-v4.ts'

export interface LoggedModel {
  readonly modelId: string
  readonly role: 'champion' | 'challenger'
  readonly challengerId: string | null
  /** Null for a challenger that could not be loaded. */
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
  /** Cell of each feature in spec order, see `cells.ts` of the engine. */
  readonly cells: readonly number[]
}

/** One applicant. */
interface LoggedRow {
  readonly id: string | number | null
  /** One for each model; null if it failed. */
  readonly results: readonly (LoggedResult | null)[]
}

/** One answered scoring request as readers see it. */
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
  readonly engineVersion: number
  /** Champion first. */
  readonly models: readonly LoggedModel[]
  readonly rows: readonly LoggedRow[]
}

/**
 * Reads a record.
 *
 * @param models those of the record by id, at least those whose results have a grade
 * @throws Error that says what is wrong with the record, without quoting it
 */
export function readLoggedRequest(
  payload: Buffer,
  models: ReadonlyMap<string, CellModel>,
): LoggedRequest {
  const record = readRecordV4(payload)
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
    models: loggedModels(head),
    rows: readRowsV4(record, head).map(({ id, results }) => ({
      id,
      results: head.models.map(({ modelId, bytesPerCell }, position) => {
        const result = results[position] ?? null
        if (result === null) return null
        const readCells = () => findCells(result.cellBytes, bytesPerCell)
        return loggedResult(result, models.get(modelId), readCells)
      }),
    })),
  }
}

export function loggedModels({ models }: RecordHead): LoggedModel[] {
  return models.map(({ modelId, challengerId, specSha256, baselineId }) => ({
    modelId,
    role: challengerId === null ? 'champion' : 'challenger',
    challengerId,
    specSha256,
    baselineId,
  }))
}

/** @throws Error if the model lacks the grade */
export function loggedResult(
  { score, pd, grade, warningCount }: Omit<RecordResult, 'cellBytes'>,
  model: CellModel | undefined,
  readCells: () => readonly number[],
): LoggedResult {
  let numbers: readonly number[] | null = null
  return {
    score,
    pd: Number.isNaN(pd) ? null : pd,
    grade: grade === null ? null : gradeName(model, grade),
    warningCount,
    // Made when they are read: who wants one record of a batch reads those of one.
    get cells() {
      numbers ??= readCells()
      return numbers
    },
  }
}

function gradeName(model: CellModel | undefined, grade: number): string {
  const name = model?.grades.names[grade]
  if (name === undefined) throw new Error('the record has a grade that its model lacks')
  return name
}
