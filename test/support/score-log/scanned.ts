import type {
  ScannedColumns,
  ScannedModel,
  TimedColumns,
  TimeOrder,
} from '../../../src/log/reading/columns.ts'
import type { ScanQuery } from '../../../src/log/reading/log-query.ts'
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
  const readColumns = (modelId: string, position: number): ScannedModel => {
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
    models: models.map(readColumns),
    wanted: rows,
    requestOfRow: rows,
    requestId: (request) => `req_${request}`,
    scoredAtMs: (request) => applicants[request]?.atMs ?? 0,
    latencyMs: () => 1,
    applicants: () => 1,
    served: () => 0,
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

const HOUR_MS = 3_600_000

/** A log that holds these parts, each a block of its own. */
export function findLog(...parts: readonly ScannedColumns[]) {
  return logOfBlocks(parts, 0)
}

/** The same with blocks of so many bytes. */
export function logOfBlocks(parts: readonly ScannedColumns[], bytes: number) {
  return {
    async *columns() {
      for (const part of parts) yield [part]
    },
    columnsByTime: (_: ScanQuery, order: TimeOrder) => timed(parts, order, bytes),
  }
}

async function* timed(parts: readonly ScannedColumns[], order: TimeOrder, bytes: number) {
  const blocks = parts.map((part, blockId): TimedColumns => {
    const times = Array.from(part.wanted, (row) => part.scoredAtMs(part.requestOfRow[row] ?? 0))
    const firstAtMs = times.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY)
    const lastAtMs = times.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY)
    const hourMs = HOUR_MS * Math.floor(firstAtMs / HOUR_MS)
    return { hourMs, firstAtMs, lastAtMs, blockId, bytes, parts: [part] }
  })
  const rising = (a: TimedColumns, b: TimedColumns) =>
    a.firstAtMs - b.firstAtMs || a.blockId - b.blockId
  const falling = (a: TimedColumns, b: TimedColumns) =>
    b.lastAtMs - a.lastAtMs || a.blockId - b.blockId
  yield* blocks.sort(order === 'oldest' ? rising : falling)
}
