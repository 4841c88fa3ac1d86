import type { ScoringPlace } from '../outcomes/applicant.ts'
import { hashOfReference } from '../score-log/erasure/erasure-list.ts'
import { TurnTaker } from '../score-log/reading/turn-taker.ts'
import { APPLICANTS_MAX, tooMany } from './bounds.ts'
import type {
  CurrentDecision,
  CurrentPerformance,
  FactOrder,
  LabelledQuery,
  LabelledStore,
  ScoringFacts,
} from './labelled.ts'

/** An applicant of whom something is known, over all their scorings of the period. */
export interface KnownApplicant {
  performance: (CurrentPerformance & FactOrder) | null
  decision: (CurrentDecision & FactOrder) | null
  /** The last scoring by the model of a report, as far as the log has one. */
  logged: ScoringPlace | null
  /** Whether a report has counted the applicant. */
  isCounted: boolean
}

interface ReadOptions {
  /** Whether the scorings with one reference are one applicant; else each is one by itself. */
  readonly isByReference: boolean
  readonly signal?: AbortSignal
}

/**
 * The applicants of a period of whom an outcome or a decision is stored. Scorings with the same
 * reference are one applicant: the current fact of all of them counts. A scoring without a
 * reference is an applicant by itself.
 */
export class LabelledApplicants {
  /** By the hash of their reference, or else by their scoring: one can't look like the other. */
  private readonly byName = new Map<string, KnownApplicant>()
  private readonly teamId: string
  private hasReferences = false

  private constructor(teamId: string) {
    this.teamId = teamId
  }

  /**
   * Reads what is known of the applicants of a period. It gives way to the event loop.
   *
   * @throws AppError `invalid_request` above `APPLICANTS_MAX`; what `signal` was aborted with
   */
  static async read(
    store: LabelledStore,
    query: LabelledQuery,
    { isByReference, signal }: ReadOptions,
  ): Promise<LabelledApplicants> {
    const read = new LabelledApplicants(query.teamId)
    const turns = new TurnTaker()
    let after: ScoringPlace | null = null
    for (;;) {
      signal?.throwIfAborted()
      const portion: readonly ScoringFacts[] = await store.facts(query, after)
      for (const facts of portion) {
        read.add(isByReference ? facts : { ...facts, referenceHash: null })
        if (turns.isOver) await turns.giveWay()
      }
      if (read.size > APPLICANTS_MAX) throw tooMany('outcomes')
      after = portion.at(-1)?.place ?? null
      if (after === null) return read
    }
  }

  get size(): number {
    return this.byName.size
  }

  [Symbol.iterator](): IterableIterator<KnownApplicant> {
    return this.byName.values()
  }

  /** The applicant of a stored scoring; null for one that was stored meanwhile. */
  ofStored(place: ScoringPlace, referenceHash: string | null): KnownApplicant | null {
    return this.byName.get(referenceHash ?? keyOf(place)) ?? null
  }

  /**
   * The applicant of a logged scoring; null if nothing is known of them.
   *
   * @param key see `keyOf`
   */
  ofLogged(key: string, reference: string | null): KnownApplicant | null {
    if (reference !== null && this.hasReferences) {
      const known = this.byName.get(hashOfReference(this.teamId, reference))
      if (known !== undefined) return known
    }
    return this.byName.get(key) ?? null
  }

  private add({ place, referenceHash, performance, decision }: ScoringFacts): void {
    if (referenceHash !== null) this.hasReferences = true
    const name = referenceHash ?? keyOf(place)
    const known = this.byName.get(name)
    if (known === undefined) {
      this.byName.set(name, { performance, decision, logged: null, isCounted: false })
      return
    }
    known.performance = laterOf(known.performance, performance)
    known.decision = laterOf(known.decision, decision)
  }
}

/** Names a scoring. */
export function keyOf({ requestId, recordIndex }: Omit<ScoringPlace, 'scoredAtMs'>): string {
  return `${requestId}/${recordIndex}`
}

function laterOf<Fact extends FactOrder>(one: Fact | null, other: Fact | null): Fact | null {
  if (one === null || other === null) return one ?? other
  const order = one.asOfMs - other.asOfMs || one.revision - other.revision
  return order > 0 ? one : other
}
