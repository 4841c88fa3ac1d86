import { createHash } from 'node:crypto'
import { AppError } from '../../errors.ts'
import type { LogReader, ScannedColumns } from '../../log/index.ts'
import { TurnTaker } from '../../platform/turn-taker.ts'

/** One model's results for one applicant. */
export interface ScoredApplicant {
  readonly score: number
  /** Null if the score has no grade. */
  readonly grade: string | null
  /** See `LoggedResult`. */
  readonly cells: readonly number[]
  readonly scoredAtMs: number
  /** True if this model answered. */
  readonly isServed: boolean
  /** The baseline of reasons in force then; null for none. */
  readonly baselineId: string | null
  /** The lender's name for the application, as a hash; null for none. */
  reference(): string | null
}

interface ApplicantQuery {
  readonly teamId: string
  readonly deploymentId: string
  readonly modelId: string
  readonly fromMs: number
  readonly toMs: number
}

/** Applicants of a portion, between two looks at the clock. */
const APPLICANTS_A_LOOK = 500

/** All results of a model in a period, in portions, whether or not it answered. */
export async function* listApplicants(
  log: Pick<LogReader, 'columns'>,
  { modelId, ...query }: ApplicantQuery,
): AsyncGenerator<readonly ScoredApplicant[]> {
  const turns = new TurnTaker()
  for await (const parts of log.columns(query)) {
    for (const columns of parts) {
      const position = columns.models.findIndex((model) => model.modelId === modelId)
      if (position < 0) continue
      const { wanted } = columns
      for (let from = 0; from < wanted.length; from += APPLICANTS_A_LOOK) {
        yield applicantsAt(columns, position, wanted.subarray(from, from + APPLICANTS_A_LOOK))
        if (turns.isOver) await turns.giveWay()
      }
    }
  }
}

function applicantsAt(
  columns: ScannedColumns,
  position: number,
  rows: Int32Array,
): ScoredApplicant[] {
  const model = columns.models[position]
  if (model === undefined) return []
  const { scored, scores, grades, gradeNames, cells, baselineId } = model
  const { requestOfRow } = columns
  const applicants: ScoredApplicant[] = []
  for (const row of rows) {
    if (scored[row] !== 1) continue
    const request = requestOfRow[row] ?? 0
    applicants.push({
      score: scores[row] ?? Number.NaN,
      grade: gradeNames[grades[row] ?? -1] ?? null,
      cells: cells.map((column) => column[row] ?? 0),
      scoredAtMs: columns.scoredAtMs(request),
      isServed: columns.served(request) === position,
      baselineId,
      reference: () => {
        const reference = columns.reference(row)
        return reference === null ? null : computeHash(reference)
      },
    })
  }
  return applicants
}

const HASH_CHARS = 22

/** Half of the bits are enough: references are compared within one deployment. */
function computeHash(reference: string): string {
  return createHash('sha256').update(reference).digest('base64url').slice(0, HASH_CHARS)
}

/**
 * Bytes that references may take, and what one takes: the text and its place, and four bytes a
 * slot.
 */
const REFERENCES_BYTES_MAX = 320 * 1024 * 1024
const REFERENCE_BYTES = 250
const SLOT_BYTES = 4

/** Returns how many references `LastOfReferences` takes of a card with so many features. */
export function referencesMax(features: number): number {
  return Math.floor(REFERENCES_BYTES_MAX / (REFERENCE_BYTES + SLOT_BYTES * features))
}

/**
 * Remembers the last scoring of each reference.
 *
 * It takes as many references as fit in 320 MiB; more are refused, because an answer from a part of
 * the applicants would be wrong without a sign.
 */
export class LastOfReferences<Item> {
  private readonly known = new Map<string, { readonly scoredAtMs: number; readonly item: Item }>()
  private readonly features: number

  /** @param features of the card whose slots the items are */
  constructor(features: number) {
    this.features = features
  }

  /**
   * @returns what the scoring replaces; `isLast` is false if a later one is known already
   * @throws AppError `invalid_request` when there are too many
   */
  add(
    reference: string,
    scoredAtMs: number,
    item: Item,
  ): { readonly isLast: boolean; readonly replaced: Item | null } {
    const before = this.known.get(reference)
    // In the same millisecond the log's own order decides.
    if (before !== undefined && before.scoredAtMs > scoredAtMs) {
      return { isLast: false, replaced: null }
    }
    const max = referencesMax(this.features)
    if (before === undefined && this.known.size >= max) {
      const most = `the most for a card of ${this.features} features`
      throw new AppError(
        'invalid_request',
        `the period has more than ${max} references, ${most}: choose a shorter one with from and to`,
      )
    }
    this.known.set(reference, { scoredAtMs, item })
    return { isLast: true, replaced: before?.item ?? null }
  }
}
