import { bestPoints, findCellSlots, ReasonFinder, type ReasonMethod } from '../../engine/index.ts'
import { AppError } from '../../errors.ts'
import { LastOfReferences, type ScoredApplicant } from './applicants.ts'
import { computePopulation, type ExplainedCard, type ScoreBand } from './population.ts'

export type ReportedMethod = ReasonMethod

export interface MethodReport {
  /** Declines. */
  readonly n: number
  readonly cutoff: number
  readonly pairs: readonly MethodPair[]
}

/** Number of times that two methods agree; null without a decline. */
interface MethodPair {
  readonly a: ReportedMethod
  readonly b: ReportedMethod
  /** Share of declines with the same first reason. */
  readonly sameFirst: number | null
  /** Share with the same reasons in any order. */
  readonly sameSet: number | null
  /** Average of the share of common reasons in all reasons of the two. */
  readonly meanJaccard: number | null
}

interface ReportOptions {
  readonly methods: readonly ReportedMethod[]
  readonly cutoff: number
  /** Null if no method needs it. */
  readonly band: ScoreBand | null
}

/**
 * Compares the reasons that methods give to the same declines. It reads the log once for the
 * averages of each method, and once for the last scoring of each reference.
 *
 * Two empty lists agree.
 *
 * @param applicants reads the applicants of the period anew
 * @throws AppError `invalid_baseline` for a method that the card has no baselines for,
 *   `population_too_small` for one without applicants, `invalid_request` for too many references
 */
export async function compareMethods(
  card: ExplainedCard,
  { methods, cutoff, band }: ReportOptions,
  applicants: () => AsyncIterable<readonly ScoredApplicant[]>,
): Promise<MethodReport> {
  const finders: ReasonFinder[] = []
  for (const method of methods) {
    const means = await computeMeans(card, method, { band, applicants })
    finders.push(new ReasonFinder(card.model, card.rules, { means, populationN: null }))
  }
  const tallies = methods.flatMap((a, first) =>
    methods.slice(first + 1).map((b, offset) => new PairTally(a, b, first, first + 1 + offset)),
  )
  let n = 0
  const add = (slots: Int32Array, times: 1 | -1) => {
    n += times
    const lists = finders.map((finder) => listCodes(finder, slots))
    for (const tally of tallies) tally.add(lists, times)
  }
  const last = new LastOfReferences<Int32Array | null>(card.model.features.length)
  for await (const portion of applicants()) {
    for (const applicant of portion) {
      const { score, cells } = applicant
      const reference = applicant.reference()
      const isDeclined = card.rules.sign * (score - cutoff) < 0
      const slots = isDeclined ? findCellSlots(card.model, cells) : null
      if (reference !== null) {
        const { isLast, replaced } = last.add(reference, applicant.scoredAtMs, slots)
        if (!isLast) continue
        if (replaced !== null) add(replaced, -1)
      }
      if (slots !== null) add(slots, 1)
    }
  }
  return { n, cutoff, pairs: tallies.map((tally) => tally.pair(n)) }
}

function listCodes(finder: ReasonFinder, slots: Int32Array): number[] {
  return finder.find(slots, finder.rules.max).reasons.map(({ code }) => code)
}

interface MeansSource {
  readonly band: ScoreBand | null
  readonly applicants: () => AsyncIterable<readonly ScoredApplicant[]>
}

async function computeMeans(
  card: ExplainedCard,
  method: ReportedMethod,
  { band, applicants }: MeansSource,
): Promise<Float64Array> {
  if (method === 'max' || method === 'fixed') return meansOfCard(card, method)
  const population = await computePopulation(
    card,
    applicants(),
    method === 'mean_at_cutoff' ? band : null,
  )
  if (population.n === 0) {
    throw new AppError(
      'population_too_small',
      `the period has no applicant for ${method}: choose a longer one, or another cutoff`,
    )
  }
  return Float64Array.from(population.means)
}

function meansOfCard({ model, rules }: ExplainedCard, method: 'max' | 'fixed'): Float64Array {
  if (method === 'max') return bestPoints(model, rules.sign)
  const { features } = rules.spec
  return Float64Array.from(features, ({ reason_baseline: baseline }, index) => {
    if (baseline !== undefined || rules.eligible[index] !== 1) return baseline ?? Number.NaN
    throw new AppError(
      'invalid_baseline',
      `the method fixed needs features[${index}].reason_baseline, which the card does not have`,
    )
  })
}

/** Counts how often two methods agree. */
class PairTally {
  private same = 0
  private sameSets = 0
  private jaccards = 0
  private readonly a: ReportedMethod
  private readonly b: ReportedMethod
  private readonly first: number
  private readonly second: number

  constructor(a: ReportedMethod, b: ReportedMethod, first: number, second: number) {
    this.a = a
    this.b = b
    this.first = first
    this.second = second
  }

  add(lists: readonly (readonly number[])[], times: 1 | -1): void {
    const one = lists[this.first] ?? []
    const other = lists[this.second] ?? []
    const common = one.filter((code) => other.includes(code)).length
    const all = one.length + other.length - common
    if (one[0] === other[0]) this.same += times
    if (common === all) this.sameSets += times
    this.jaccards += times * (all === 0 ? 1 : common / all)
  }

  pair(n: number): MethodPair {
    const share = (sum: number) => (n === 0 ? null : sum / n)
    return {
      a: this.a,
      b: this.b,
      sameFirst: share(this.same),
      sameSet: share(this.sameSets),
      // Sums of shares that were added and taken away again are not exact.
      meanJaccard: n === 0 ? null : Math.min(1, Math.max(0, this.jaccards / n)),
    }
  }
}
