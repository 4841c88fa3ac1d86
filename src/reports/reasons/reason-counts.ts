import { findCellSlots, type ReasonFinder, textIn } from '../../engine/index.ts'
import { makeReasonFinder, type ReasonBaseline } from '../../scoring/reason-baseline.ts'
import type { ScoredApplicant } from './applicants.ts'
import type { ExplainedCard } from './population.ts'

/** Number of times that a code was a reason. */
interface CodeCount {
  readonly code: string
  readonly text: string
  /** Answers with this reason. */
  readonly n: number
  /** The ones that had it first. */
  readonly first: number
}

/** The reasons of answers with one grade, or of all. */
export interface GradeCounts {
  /** Null for answers without a grade. */
  readonly grade: string | null
  readonly n: number
  /** Answers in which nothing was adverse. */
  readonly noAdverseFactor: number
  /** The most frequent first. */
  readonly reasons: readonly CodeCount[]
  /** Codes that are left out, because they are less frequent. */
  readonly moreCodes: number
}

export interface ReasonCounts {
  readonly all: GradeCounts
  /** In the order of the card, then those without a grade; only grades that were answered. */
  readonly grades: readonly GradeCounts[]
  /** Answers whose model needed a baseline and had none. */
  readonly withoutBaseline: number
}

interface CountOptions {
  readonly lang: string
  readonly baseline: (baselineId: string) => Promise<ReasonBaseline | null>
}

/** Codes that an answer lists: of all grades, and of each. A card can have 10,000. */
const CODES_OF_ALL_MAX = 100
const CODES_OF_GRADE_MAX = 20
/** Finders that are held at a time; the log is in the order of time, so few are in use. */
const FINDERS_MAX = 8

/**
 * Counts the reasons of a model's answers by grade: as many reasons of each answer as the card
 * says, each against the baseline that was in force then.
 *
 * @param applicants results of the model; those that another model answered do not count
 */
export async function countReasons(
  card: ExplainedCard,
  applicants: AsyncIterable<readonly ScoredApplicant[]>,
  { lang, baseline }: CountOptions,
): Promise<ReasonCounts> {
  const { model, rules } = card
  const finders = new Map<string | null, ReasonFinder | null>()
  const makeFinder = async (id: string | null) => {
    if (finders.size >= FINDERS_MAX) finders.clear()
    const finder = makeReasonFinder(model, rules, id === null ? null : await baseline(id))
    finders.set(id, finder)
    return finder
  }
  const all = new Tally(rules.codes.length)
  const grades = new Map<string | null, Tally>()
  let withoutBaseline = 0
  for await (const portion of applicants) {
    for (const { cells, grade, baselineId, isServed } of portion) {
      if (!isServed) continue
      const known = finders.get(baselineId)
      const finder = known === undefined ? await makeFinder(baselineId) : known
      if (finder === null) {
        withoutBaseline++
        continue
      }
      const { reasons } = finder.find(findCellSlots(model, cells), rules.max)
      let ofGrade = grades.get(grade)
      if (ofGrade === undefined) {
        ofGrade = new Tally(rules.codes.length)
        grades.set(grade, ofGrade)
      }
      all.add(reasons)
      ofGrade.add(reasons)
    }
  }
  const formatText = (code: string) => {
    const texts = rules.spec.reason_codes ?? {}
    return (Object.hasOwn(texts, code) ? textIn(texts[code], lang) : null) ?? code
  }
  const counts = (grade: string | null, tally: Tally, max: number): GradeCounts => ({
    grade,
    ...tally.counts(rules.codes, { formatText, max }),
  })
  // The names of a card go from the worst score up, or down with a negative pdo.
  const named: readonly (string | null)[] = [...new Set(model.grades.names)]
  const order = rules.sign === 1 ? named.toReversed() : named
  return {
    all: counts(null, all, CODES_OF_ALL_MAX),
    grades: [...order, null].flatMap((grade) => {
      const tally = grades.get(grade)
      return tally === undefined ? [] : [counts(grade, tally, CODES_OF_GRADE_MAX)]
    }),
    withoutBaseline,
  }
}

interface ListOptions {
  readonly formatText: (code: string) => string
  readonly max: number
}

/** Number of times that each code was a reason. */
class Tally {
  private n = 0
  private empty = 0
  private readonly met: Uint32Array
  private readonly first: Uint32Array

  constructor(codes: number) {
    this.met = new Uint32Array(codes)
    this.first = new Uint32Array(codes)
  }

  add(reasons: readonly { readonly code: number }[]): void {
    const { met, first } = this
    this.n++
    const [largest] = reasons
    if (largest === undefined) this.empty++
    else first[largest.code] = (first[largest.code] ?? 0) + 1
    for (const { code } of reasons) met[code] = (met[code] ?? 0) + 1
  }

  counts(codes: readonly string[], { formatText, max }: ListOptions): Omit<GradeCounts, 'grade'> {
    const { met, first } = this
    const given = [...codes.keys()].filter((code) => (met[code] ?? 0) > 0)
    // Sorting is stable, so ties are in the order of the card.
    given.sort((one, other) => (met[other] ?? 0) - (met[one] ?? 0))
    return {
      n: this.n,
      noAdverseFactor: this.empty,
      reasons: given.slice(0, max).map((code) => ({
        code: codes[code] ?? '',
        text: formatText(codes[code] ?? ''),
        n: met[code] ?? 0,
        first: first[code] ?? 0,
      })),
      moreCodes: Math.max(0, given.length - max),
    }
  }
}
