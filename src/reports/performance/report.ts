import type { StoredModel } from '../score-log/reading/stored-models.ts'
import { type FeaturePerformance, featuresOf } from './bin-performance.ts'
import type { Population } from './population.ts'
import { type ProbabilityFit, probabilityFitOf } from './statistics/brier.ts'
import {
  type Calibration,
  calibrationOf,
  type HosmerLemeshow,
  hosmerLemeshow,
} from './statistics/calibration.ts'
import {
  type DevelopmentCheck,
  type Direction,
  type Discrimination,
  developmentCheckOf,
  discriminationOf,
} from './statistics/discrimination.ts'
import { type ExpectedPerformance, expectedPerformance } from './statistics/expected.ts'
import { type GainsBand, gainsOf } from './statistics/gains.ts'
import { inTurns } from './statistics/in-turns.ts'
import { type KsInterval, ksIntervalOf } from './statistics/ks-interval.ts'
import { comparePaired, type PairedComparison } from './statistics/paired.ts'
import { type CoverageCounts, emptyGroup, type GroupTally, type PerformanceTally } from './tally.ts'

/** The figures of a model over good and bad applicants. */
export interface PerformanceReport extends Discrimination, ProbabilityFit {
  readonly n: number
  readonly good: number
  readonly bad: number
  readonly coverage: CoverageCounts & { readonly scored: number }
  readonly ksInterval: KsInterval | null
  /** Null where no AUC of the development sample was given. */
  readonly development: DevelopmentCheck | null
  readonly gains: readonly GainsBand[]
  readonly grades: readonly (Calibration & { readonly grade: string | null })[]
  readonly bands: readonly (Calibration & { readonly min: number; readonly max: number })[]
  readonly hosmerLemeshow: HosmerLemeshow | null
  readonly features: readonly FeaturePerformance[]
  readonly paired: readonly (PairedComparison & {
    readonly challengerId: string
    readonly modelId: string
  })[]
  readonly expected: ExpectedPerformance
}

/** What a report is made of. */
export interface ReportInput {
  readonly tally: PerformanceTally
  readonly population: Population
  readonly model: StoredModel
  /** Models of the pairs, by id. */
  readonly others: ReadonlyMap<string, StoredModel>
  readonly developmentAuc: number | null
}

/** Score bands are doubled in width until there are so many. */
const BANDS_MAX = 50
const BAND_WIDTH_DEFAULT = 20

/** 1 where a higher score is a lower risk, and for a card without a scale. */
export function directionOf({ card }: StoredModel): Direction {
  const pdo = card?.spec.scaling?.pdo ?? 1
  return pdo < 0 ? -1 : 1
}

/** Makes the report of a model. It gives way to the event loop. */
export async function reportOf(input: ReportInput): Promise<PerformanceReport> {
  const { tally, population, model, others, developmentAuc } = input
  const direction = directionOf(model)
  const counts = await tally.byScore.sorted()
  let [good, bad] = [0, 0]
  await inTurns(counts, (count) => {
    good += count.good
    bad += count.bad
  })
  const discrimination = await discriminationOf(counts, direction)
  const paired: PerformanceReport['paired'][number][] = []
  for (const pair of tally.pairs.values()) {
    const other = others.get(pair.modelId)
    const challenger = other === undefined ? direction : directionOf(other)
    const compared = await comparePaired(pair, { champion: direction, challenger })
    paired.push({ challengerId: pair.challengerId, modelId: pair.modelId, ...compared })
  }
  const grades = await gradesOf(tally, model)
  const width = Math.abs(model.card?.spec.scaling?.pdo ?? BAND_WIDTH_DEFAULT)
  const sides = { goods: good, bads: bad, direction }
  return {
    n: good + bad,
    good,
    bad,
    coverage: { scored: population.scored, ...tally.coverage },
    ...discrimination,
    ksInterval: await ksIntervalOf(counts, discrimination),
    development:
      developmentAuc === null ? null : developmentCheckOf(discrimination, developmentAuc),
    ...(await probabilityFitOf(counts)),
    gains: await gainsOf(counts, direction),
    grades,
    bands: await bandsOf(counts, width),
    hosmerLemeshow: hosmerLemeshow(grades),
    features: model.card === null ? [] : await featuresOf(tally, model.card, sides),
    paired,
    expected: await expectedPerformance(population.unlabelled, direction),
  }
}

type Count = { readonly score: number; readonly good: number; readonly bad: number; pd: number }

/** The tests of a group take some forty microseconds. */
const GROUPS_A_LOOK = 5

function calibrated({ n, bad, pdSum }: GroupTally): Calibration {
  const meanPd = pdSum / n
  return calibrationOf({ n, bad, meanPd: Number.isNaN(meanPd) ? null : meanPd })
}

/** The grades that are present, in the order of the spec, and applicants without a grade last. */
async function gradesOf({ byGrade }: PerformanceTally, { card }: StoredModel) {
  const places = new Map((card?.model.grades.names ?? []).map((name, place) => [name, place]))
  const placeOf = (grade: string | null) =>
    grade === null ? Number.POSITIVE_INFINITY : (places.get(grade) ?? -1)
  const grades: PerformanceReport['grades'][number][] = []
  const sorted = [...byGrade].sort(([a], [b]) => (placeOf(a) < placeOf(b) ? -1 : 1))
  const add = ([grade, group]: (typeof sorted)[number]) =>
    void grades.push({ grade, ...calibrated(group) })
  await inTurns(sorted, add, GROUPS_A_LOOK)
  return grades
}

async function bandsOf(counts: readonly Count[], pdo: number) {
  const [first] = counts
  const last = counts.at(-1)
  if (first === undefined || last === undefined) return []
  let width = pdo
  while ((last.score - first.score) / width > BANDS_MAX - 1) width *= 2
  const bands = new Map<number, GroupTally>()
  await inTurns(counts, ({ score, good, bad, pd }) => {
    const band = Math.floor(score / width)
    const group = bands.get(band) ?? emptyGroup()
    bands.set(band, group)
    group.n += good + bad
    group.bad += bad
    group.pdSum += (good + bad) * pd
  })
  return [...bands].map(([band, group]) => ({
    min: band * width,
    max: (band + 1) * width,
    ...calibrated(group),
  }))
}
