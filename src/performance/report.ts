import { loggedFeature } from '../reading/logged-feature.ts'
import type { StoredModel } from '../score-log/reading/stored-models.ts'
import { TurnTaker } from '../score-log/reading/turn-taker.ts'
import type { Population } from './population.ts'
import { brierOf } from './statistics/brier.ts'
import {
  type Calibration,
  calibrationOf,
  type HosmerLemeshow,
  hosmerLemeshow,
  jeffreysInterval,
  weightOfEvidence,
  zOf,
} from './statistics/calibration.ts'
import {
  type Direction,
  type Discrimination,
  discriminationOf,
} from './statistics/discrimination.ts'
import { type ExpectedPerformance, expectedPerformance } from './statistics/expected.ts'
import { type GainsBand, gainsOf } from './statistics/gains.ts'
import { comparePaired, type PairedComparison, sortedByScore } from './statistics/paired.ts'
import { type CoverageCounts, emptyGroup, type GroupTally, type PerformanceTally } from './tally.ts'

type Card = NonNullable<StoredModel['card']>

export interface BinPerformance {
  /** Null where the first form of the log does not tell. */
  readonly outcome: ReturnType<typeof loggedFeature>['outcome']
  /** Index in the spec; null for none. */
  readonly bin: number | null
  readonly points: number
  readonly n: number
  readonly good: number
  readonly bad: number
  readonly badRate: number
  readonly badRateLow: number
  readonly badRateHigh: number
  readonly woe: number | null
  readonly z: number | null
}

/** The figures of a model over good and bad applicants. */
export interface PerformanceReport extends Discrimination {
  readonly n: number
  readonly good: number
  readonly bad: number
  readonly coverage: CoverageCounts & { readonly scored: number }
  readonly brier: number | null
  readonly gains: readonly GainsBand[]
  readonly grades: readonly (Calibration & { readonly grade: string | null })[]
  readonly bands: readonly (Calibration & { readonly min: number; readonly max: number })[]
  readonly hosmerLemeshow: HosmerLemeshow | null
  readonly features: readonly { readonly name: string; readonly bins: readonly BinPerformance[] }[]
  readonly paired: readonly (PairedComparison & {
    readonly challengerId: string
    readonly modelId: string
  })[]
  readonly expected: ExpectedPerformance
}

/** Score bands are doubled in width until there are so many. */
const BANDS_MAX = 50
const BAND_WIDTH_DEFAULT = 20

/** 1 where a higher score is a lower risk, and for a card without a scale. */
export function directionOf({ card }: StoredModel): Direction {
  const pdo = card?.spec.scaling?.pdo ?? 1
  return pdo < 0 ? -1 : 1
}

/**
 * Makes the report of a model. It gives way to the event loop between its parts, and within those
 * that sort applicants or compare models.
 *
 * @param model the model of the report
 * @param others models of the pairs, by id
 */
export async function reportOf(
  tally: PerformanceTally,
  population: Population,
  model: StoredModel,
  others: ReadonlyMap<string, StoredModel>,
): Promise<PerformanceReport> {
  const direction = directionOf(model)
  const counts = await sortedByScore(tally.byScore)
  const good = counts.reduce((sum, count) => sum + count.good, 0)
  const bad = counts.reduce((sum, count) => sum + count.bad, 0)
  const grades = gradesOf(tally, model)
  const turns = new TurnTaker()
  const discrimination = discriminationOf(counts, direction)
  await turns.giveWay()
  const gains = gainsOf(counts, direction)
  await turns.giveWay()
  const paired: PerformanceReport['paired'][number][] = []
  for (const pair of tally.pairs.values()) {
    const other = others.get(pair.modelId)
    const challenger = other === undefined ? direction : directionOf(other)
    const compared = await comparePaired(pair, { champion: direction, challenger })
    paired.push({ challengerId: pair.challengerId, modelId: pair.modelId, ...compared })
  }
  return {
    n: good + bad,
    good,
    bad,
    coverage: { scored: population.scored, ...tally.coverage },
    ...discrimination,
    brier: brierOf(counts),
    gains,
    grades,
    bands: bandsOf(counts, Math.abs(model.card?.spec.scaling?.pdo ?? BAND_WIDTH_DEFAULT)),
    hosmerLemeshow: hosmerLemeshow(grades),
    features: model.card === null ? [] : featuresOf(tally, model.card, good, bad),
    paired,
    expected: expectedPerformance(population.unlabelled, direction),
  }
}

type Count = { readonly score: number; readonly good: number; readonly bad: number; pd: number }

function calibrated({ n, bad, pdSum }: GroupTally): Calibration {
  const meanPd = pdSum / n
  return calibrationOf({ n, bad, meanPd: Number.isNaN(meanPd) ? null : meanPd })
}

/** The grades that are present, in the order of the spec, and applicants without a grade last. */
function gradesOf({ byGrade }: PerformanceTally, { card }: StoredModel) {
  const names = card?.model.grades.names ?? []
  const placeOf = (grade: string | null) => {
    if (grade === null) return Number.POSITIVE_INFINITY
    return names.indexOf(grade)
  }
  return [...byGrade]
    .sort(([a], [b]) => (placeOf(a) < placeOf(b) ? -1 : 1))
    .map(([grade, group]) => ({ grade, ...calibrated(group) }))
}

function bandsOf(counts: readonly Count[], pdo: number) {
  const [first] = counts
  const last = counts.at(-1)
  if (first === undefined || last === undefined) return []
  let width = pdo
  while ((last.score - first.score) / width > BANDS_MAX - 1) width *= 2
  const bands = new Map<number, GroupTally>()
  for (const { score, good, bad, pd } of counts) {
    const band = Math.floor(score / width)
    const group = bands.get(band) ?? emptyGroup()
    bands.set(band, group)
    group.n += good + bad
    group.bad += bad
    group.pdSum += (good + bad) * pd
  }
  return [...bands].map(([band, group]) => ({
    min: band * width,
    max: (band + 1) * width,
    ...calibrated(group),
  }))
}

function featuresOf(tally: PerformanceTally, card: Card, goods: number, bads: number) {
  return card.spec.features.map(({ name }, feature) => ({
    name,
    bins: binsOf(tally, card, feature).map(({ group, outcome, bin, points }) => {
      const { n, bad, pdSum, pdVariance } = group
      const { low, high } = jeffreysInterval(bad, n)
      return {
        outcome,
        bin,
        points,
        n,
        good: n - bad,
        bad,
        badRate: bad / n,
        badRateLow: low,
        badRateHigh: high,
        woe: weightOfEvidence(n - bad, bad, goods, bads),
        z: zOf(bad, pdSum, pdVariance),
      }
    }),
  }))
}

/** The cells of a feature in the order of its bins; both forms of the log in one. */
function binsOf({ byCell }: PerformanceTally, card: Card, feature: number) {
  const bins = new Map<string, { group: GroupTally } & ReturnType<typeof loggedFeature>>()
  for (const { cell, isFirstForm, ...group } of byCell[feature]?.values() ?? []) {
    const read = loggedFeature(card, feature, cell, isFirstForm)
    const name = `${read.outcome} ${read.bin}`
    const found = bins.get(name) ?? { ...read, group: emptyGroup() }
    bins.set(name, found)
    found.group.n += group.n
    found.group.bad += group.bad
    found.group.pdSum += group.pdSum
    found.group.pdVariance += group.pdVariance
  }
  const placeOf = ({ bin, outcome }: { bin: number | null; outcome: string | null }) =>
    bin === null || outcome !== 'matched' ? Number.MAX_SAFE_INTEGER : bin
  return [...bins.values()].sort(
    (a, b) => placeOf(a) - placeOf(b) || (String(a.outcome) < String(b.outcome) ? -1 : 1),
  )
}
