import { AppError } from '../../errors.ts'
import { hashOfReference } from '../../log/index.ts'
import type { ScoringPlace } from '../../outcomes/applicant.ts'
import { TurnTaker } from '../../platform/turn-taker.ts'
import type {
  ApplicantFacts,
  CurrentPerformance,
  FactOrder,
  LabelledQuery,
  ScoringFacts,
} from './labelled.ts'
import { NameTable, NumberColumn } from './name-table.ts'
import type { PerformanceStore } from './store.ts'

interface ReadOptions {
  /** True if the scorings with one reference are one applicant; else each is one by itself. */
  readonly isByReference: boolean
  readonly signal?: AbortSignal
}

const OUTCOMES = ['good', 'bad', 'indeterminate', 'excluded'] as const
const NONE = -1

/** A fact of each applicant; `what` is `NONE` without one. */
function newFacts() {
  return {
    what: new NumberColumn(NONE),
    asOfMs: new NumberColumn(NONE),
    revision: new NumberColumn(NONE),
    eventAtMs: new NumberColumn(Number.NaN),
    bookedAtMs: new NumberColumn(Number.NaN),
  }
}

/**
 * The applicants of a period of whom an outcome or a decision is stored. Scorings with the same
 * reference are one applicant: the current fact of all of them counts. A scoring without a
 * reference is an applicant by itself. Applicants have numbers from 0 on, and take about 120 bytes
 * each.
 */
export class LabelledApplicants {
  /** By the hash of their reference, or else by their scoring: one can't look like the other. */
  private readonly names = new NameTable()
  private readonly performances = newFacts()
  private readonly decisions = newFacts()
  private readonly counted = new NumberColumn(0)
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
    store: PerformanceStore,
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
    return this.names.size
  }

  *[Symbol.iterator](): Generator<number> {
    for (let applicant = 0; applicant < this.size; applicant++) yield applicant
  }

  readFacts(applicant: number): ApplicantFacts {
    const { performances: performed, decisions: decided } = this
    const outcome = OUTCOMES[performed.what.at(applicant)]
    const decision = decided.what.at(applicant)
    return {
      performance:
        outcome === undefined
          ? null
          : {
              outcome,
              asOfMs: performed.asOfMs.at(applicant),
              eventAtMs: momentAt(performed.eventAtMs, applicant),
              bookedAtMs: momentAt(performed.bookedAtMs, applicant),
            },
      decision:
        decision === NONE
          ? null
          : { isApproved: decision === 1, bookedAtMs: momentAt(decided.bookedAtMs, applicant) },
    }
  }

  /** The current outcome of an applicant; null without one. */
  findOutcome(applicant: number): CurrentPerformance['outcome'] | null {
    return OUTCOMES[this.performances.what.at(applicant)] ?? null
  }

  /** Tells whether the outcome of an applicant is good or bad. */
  hasLabel(applicant: number): boolean {
    const outcome = this.findOutcome(applicant)
    return outcome === 'good' || outcome === 'bad'
  }

  /** Tells whether anything is known of an applicant. */
  hasFacts(applicant: number): boolean {
    return (
      this.performances.what.at(applicant) !== NONE || this.decisions.what.at(applicant) !== NONE
    )
  }

  isCounted(applicant: number): boolean {
    return this.counted.at(applicant) === 1
  }

  setCounted(applicant: number): void {
    this.counted.set(applicant, 1)
  }

  /** The applicant of a stored scoring; -1 for one that was stored meanwhile. */
  ofStored(place: ScoringPlace, referenceHash: string | null): number {
    return this.named(referenceHash ?? makeKey(place))
  }

  /**
   * The applicant of a logged scoring; -1 if nothing is known of them.
   *
   * @param key see `makeKey`
   */
  ofLogged(key: string, reference: string | null): number {
    if (reference !== null && this.hasReferences) {
      const known = this.named(hashOfReference(this.teamId, reference))
      if (known >= 0) return known
    }
    return this.named(key)
  }

  private named(name: string): number {
    this.names.ofText(name)
    return this.names.find()
  }

  private add({ place, referenceHash, performance, decision }: ScoringFacts): void {
    if (referenceHash !== null) this.hasReferences = true
    this.names.ofText(referenceHash ?? makeKey(place))
    const applicant = this.names.findOrAdd()
    const { performances, decisions } = this
    if (performance !== null && isCurrent(performances, applicant, performance)) {
      const { outcome, eventAtMs, bookedAtMs } = performance
      setFact(performances, applicant, performance)
      performances.what.set(applicant, OUTCOMES.indexOf(outcome))
      performances.eventAtMs.set(applicant, eventAtMs ?? Number.NaN)
      performances.bookedAtMs.set(applicant, bookedAtMs ?? Number.NaN)
    }
    if (decision !== null && isCurrent(decisions, applicant, decision)) {
      setFact(decisions, applicant, decision)
      decisions.what.set(applicant, decision.isApproved ? 1 : 0)
      decisions.bookedAtMs.set(applicant, decision.bookedAtMs ?? Number.NaN)
    }
  }
}

type Facts = ReturnType<typeof newFacts>

/** Tells whether a fact takes the place of what is known; of equal ones the later read does. */
function isCurrent({ what, asOfMs, revision }: Facts, applicant: number, fact: FactOrder): boolean {
  if (what.at(applicant) === NONE) return true
  const order = asOfMs.at(applicant) - fact.asOfMs || revision.at(applicant) - fact.revision
  return order <= 0
}

function setFact({ asOfMs, revision }: Facts, applicant: number, fact: FactOrder): void {
  asOfMs.set(applicant, fact.asOfMs)
  revision.set(applicant, fact.revision)
}

function momentAt(column: NumberColumn, applicant: number): number | null {
  const atMs = column.at(applicant)
  return Number.isNaN(atMs) ? null : atMs
}

export function makeKey({ requestId, recordIndex }: Omit<ScoringPlace, 'scoredAtMs'>): string {
  return `${requestId}/${recordIndex}`
}

/** Applicants of a report: each takes about half a kilobyte until it is done. */
export const APPLICANTS_MAX = 1_000_000

/** The error of a report above `APPLICANTS_MAX`. */
export function tooMany(what: 'applicants' | 'outcomes'): AppError {
  const message = `the period has more than ${APPLICANTS_MAX} ${what}: choose a shorter one`
  return new AppError('invalid_request', message)
}
