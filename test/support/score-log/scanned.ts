import type { ScannedColumns, ScannedModel } from '../../../src/score-log/reading/columns.ts'

/** One applicant: the results of each model, null where it failed. */
export interface ScannedApplicant {
  readonly results: readonly ({
    readonly score: number
    readonly pd?: number
    readonly cells?: readonly number[]
  } | null)[]
  readonly reference?: string
  readonly atMs?: number
}

/** Columns of applicants, each a request of its own; the first model is the champion. */
export function scanned(
  models: readonly string[],
  applicants: readonly ScannedApplicant[],
): ScannedColumns {
  const columnsOf = (modelId: string, position: number): ScannedModel => {
    const results = applicants.map((applicant) => applicant.results[position] ?? null)
    const features = results.find((result) => result !== null)?.cells?.length ?? 0
    return {
      modelId,
      role: position === 0 ? 'champion' : 'challenger',
      challengerId: position === 0 ? null : `ch_${modelId}`,
      baselineId: null,
      scored: Uint8Array.from(results, (result) => (result === null ? 0 : 1)),
      scores: Float64Array.from(results, (result) => result?.score ?? Number.NaN),
      pds: Float64Array.from(results, (result) => result?.pd ?? Number.NaN),
      grades: new Int16Array(results.length).fill(-1),
      gradeNames: [],
      cells: Array.from({ length: features }, (_, feature) =>
        Uint8Array.from(results, (result) => result?.cells?.[feature] ?? 0),
      ),
    }
  }
  const rows = Int32Array.from(applicants.keys())
  return {
    models: models.map(columnsOf),
    wanted: rows,
    requestOfRow: rows,
    requestId: (request) => `req_${request}`,
    scoredAtMs: (request) => applicants[request]?.atMs ?? 0,
    latencyMs: () => 1,
    applicants: () => 1,
    served: () => 0,
    isFirstForm: false,
    recordIndex: () => 0,
    reference: (row) => applicants[row]?.reference ?? null,
    hasReferences: applicants.some(({ reference }) => reference !== undefined),
    hashReference: (row, hasher) => {
      const reference = applicants[row]?.reference
      if (reference !== undefined) hasher.ofText(reference)
      return reference !== undefined
    },
  }
}

/** A log that holds these parts. */
export function logOf(...parts: readonly ScannedColumns[]) {
  return {
    async *columns() {
      for (const part of parts) yield [part]
    },
  }
}
