import { hashOfReference, type LoggedRequest } from '../log/index.ts'

/** `[model, challenger or null, score, pd, grade, cells]`; null if the model failed. */
export type StoredResult =
  | readonly [
      modelId: string,
      challengerId: string | null,
      score: number | null,
      pd: number | null,
      grade: string | null,
      cells: readonly number[],
    ]
  | null

/** Which scoring of an applicant. */
export interface ScoringPlace {
  readonly requestId: string
  readonly recordIndex: number
  readonly scoredAtMs: number
}

/** Tells whether a scoring came after another: by time, then by record, then by request. */
export function isLaterScoring(one: ScoringPlace, other: ScoringPlace): boolean {
  if (one.scoredAtMs !== other.scoredAtMs) return one.scoredAtMs > other.scoredAtMs
  if (one.recordIndex !== other.recordIndex) return one.recordIndex > other.recordIndex
  return one.requestId > other.requestId
}

/** An applicant as outcomes keep it: the part of a logged score that figures need. */
export interface ScoredApplicant extends ScoringPlace {
  readonly teamId: string
  readonly deploymentId: string
  readonly isBatch: boolean
  /** Number of applicants of the request. */
  readonly applicants: number
  readonly referenceHash: string | null
  readonly served: number
  readonly results: readonly StoredResult[]
}

/** The applicant in a row of a logged request. */
export function readApplicant(request: LoggedRequest, recordIndex: number): ScoredApplicant {
  const row = request.rows[recordIndex]
  if (row === undefined) throw new RangeError('the request has no such record')
  const reference = readReference(request, recordIndex)
  return {
    teamId: request.teamId,
    deploymentId: request.deploymentId,
    requestId: request.requestId,
    recordIndex,
    isBatch: request.isBatch,
    applicants: request.rows.length,
    scoredAtMs: request.scoredAtMs,
    referenceHash: reference === null ? null : hashOfReference(request.teamId, reference),
    served: request.served,
    results: request.models.map(({ modelId, challengerId }, position) => {
      const result = row.results[position] ?? null
      if (result === null) return null
      return [modelId, challengerId, result.score, result.pd, result.grade, result.cells]
    }),
  }
}

/** The applicant's name for themselves: of the request, or of the record in a batch. */
export function readReference(request: LoggedRequest, recordIndex: number): string | null {
  if (!request.isBatch) return request.reference
  const id = request.rows[recordIndex]?.id ?? null
  return id === null ? null : String(id)
}
