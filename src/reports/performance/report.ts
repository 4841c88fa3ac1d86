import type { StoredModel } from '../../log/index.ts'
import { type FeaturePerformance, listFeatures } from './bin-performance.ts'
import type { Population } from './population.ts'
import {
  type Calibration,
  computeCalibration,
  computeProbabilityFit,
  type HosmerLemeshow,
  hosmerLemeshow,
  type ProbabilityFit,
} from './statistics/calibration.ts'
import {
  computeDiscrimination,
  type DevelopmentCheck,
  type Direction,
  type Discrimination,
  readDevelopmentCheck,
} from './statistics/discrimination.ts'
import { type ExpectedPerformance, expectedPerformance } from './statistics/expected.ts'
import { computeGains, type GainsBand } from './statistics/gains.ts'
import { inTurns } from './statistics/in-turns.ts'
import { computeKsInterval, type KsInterval } from './statistics/ks-interval.ts'
import { comparePaired, NOBODY_PAIRED, type PairedComparison } from './statistics/paired.ts'
import {
  type ChallengerVerdict,
  judgeChallenger,
  judgePower,
  judgeProbabilities,
  judgeRanking,
  type PowerVerdict,
  type RankingVerdict,
} from './statistics/verdicts.ts'
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
  readonly paired: readonly PairedPerformance[]
  readonly verdicts: {
    readonly margin: number
    readonly ranking: RankingVerdict
    readonly power: PowerVerdict
    readonly probabilities: ReturnType<typeof judgeProbabilities>
    /** All active challengers, and others that scored the same applicants. */
    readonly challengers: readonly (PairedPerformance & ChallengerVerdict)[]
  }
  readonly expected: ExpectedPerformance
}

/** A challenger on the applicants that both scored. */
interface PairedPerformance extends PairedComparison {
  readonly challengerId: string
  readonly modelId: string
}

interface ReportInput {
  readonly tally: PerformanceTally
  readonly population: Population
  readonly model: StoredModel
  /** Models of the pairs, by id. */
  readonly others: ReadonlyMap<string, StoredModel>
  readonly developmentAuc: number | null
  /** A smaller difference of AUC does not matter. */
  readonly margin: number
  /** Challengers of now: those that nobody with an outcome was scored by have a verdict, too. */
  readonly challengers: readonly { readonly challengerId: string; readonly modelId: string }[]
}

/** Score bands are doubled in width until there are so many. */
const BANDS_MAX = 50
const BAND_WIDTH_DEFAULT = 20

/** 1 where a higher score is a lower risk, and for a card without a scale. */
function findDirection({ card }: StoredModel): Direction {
  const pdo = card?.spec.scaling?.pdo ?? 1
  return pdo < 0 ? -1 : 1
}

/** Makes the report of a model. It gives way to the event loop. */
export async function makeReport(input: ReportInput): Promise<PerformanceReport> {
  const { tally, population, model, others, developmentAuc, margin } = input
  const direction = findDirection(model)
  const counts = await tally.byScore.sorted()
  let [good, bad] = [0, 0]
  await inTurns(counts, (count) => {
    good += count.good
    bad += count.bad
  })
  const discrimination = await computeDiscrimination(counts, direction)
  const paired: PairedPerformance[] = []
  for (const pair of tally.pairs.values()) {
    const other = others.get(pair.modelId)
    const challenger = other === undefined ? direction : findDirection(other)
    const compared = await comparePaired(pair, { champion: direction, challenger })
    paired.push({ challengerId: pair.challengerId, modelId: pair.modelId, ...compared })
  }
  const grades = await listGrades(tally, model)
  const width = Math.abs(model.card?.spec.scaling?.pdo ?? BAND_WIDTH_DEFAULT)
  const development =
    developmentAuc === null ? null : readDevelopmentCheck(discrimination, developmentAuc)
  const sides = { goods: good, bads: bad, direction }
  return {
    n: good + bad,
    good,
    bad,
    coverage: { scored: population.scored, ...tally.coverage },
    ...discrimination,
    ksInterval: await computeKsInterval(counts, discrimination),
    development,
    ...(await computeProbabilityFit(counts)),
    gains: await computeGains(counts, direction),
    grades,
    bands: await listBands(counts, width),
    hosmerLemeshow: hosmerLemeshow(grades),
    features: model.card === null ? [] : await listFeatures(tally, model.card, sides),
    paired,
    verdicts: {
      margin,
      ranking: judgeRanking(discrimination, { good, bad }),
      power: judgePower(discrimination, development, { good, bad }, margin),
      probabilities: judgeProbabilities(grades),
      challengers: [...paired, ...unknownChallengers(input)].map((one) => ({
        ...one,
        ...judgeChallenger(one, one, margin),
      })),
    },
    expected: await expectedPerformance(population.unlabelled, direction),
  }
}

/** The challengers of now that no applicant with an outcome was scored by. */
function unknownChallengers({ tally, challengers, model }: ReportInput): PairedPerformance[] {
  const paired = new Set([...tally.pairs.values()].map(({ challengerId }) => challengerId))
  return challengers
    .filter(({ challengerId, modelId }) => !paired.has(challengerId) && modelId !== model.modelId)
    .map((one) => ({ ...one, ...NOBODY_PAIRED }))
}

type Count = { readonly score: number; readonly good: number; readonly bad: number; pd: number }

/** The tests of a group take some forty microseconds. */
const GROUPS_A_LOOK = 5

function calibrated({ n, bad, pdSum }: GroupTally): Calibration {
  const meanPd = pdSum / n
  return computeCalibration({ n, bad, meanPd: Number.isNaN(meanPd) ? null : meanPd })
}

/** The grades that are present, in the order of the spec, and applicants without a grade last. */
async function listGrades({ byGrade }: PerformanceTally, { card }: StoredModel) {
  const places = new Map((card?.model.grades.names ?? []).map((name, place) => [name, place]))
  const findPlace = (grade: string | null) =>
    grade === null ? Number.POSITIVE_INFINITY : (places.get(grade) ?? -1)
  const grades: PerformanceReport['grades'][number][] = []
  const sorted = [...byGrade].sort(([a], [b]) => (findPlace(a) < findPlace(b) ? -1 : 1))
  const add = ([grade, group]: (typeof sorted)[number]) =>
    void grades.push({ grade, ...calibrated(group) })
  await inTurns(sorted, add, GROUPS_A_LOOK)
  return grades
}

async function listBands(counts: readonly Count[], pdo: number) {
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
