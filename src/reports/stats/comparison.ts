import { COMPARISON_SLICES } from '../../../schemas/stats.ts'
import {
  type Counts,
  findLatencyBucket,
  latencyPercentileMs,
  latencyShareMs,
  type ScannedColumns,
  type ScannedModel,
} from '../../log/index.ts'
import { TurnTaker } from '../../platform/turn-taker.ts'
import { type Histogram, scaleOver, ValueDistribution } from './value-distribution.ts'

/** The results of one model. Latencies are those of the applicants it served. */
interface ComparedModel {
  readonly modelId: string
  /** Its role in the newest of its requests. */
  readonly role: 'champion' | 'challenger'
  readonly scored: number
  readonly served: number
  readonly scoreAvg: number | null
  readonly pdAvg: number | null
  readonly latencyP50Ms: number | null
  readonly latencyP95Ms: number | null
  /** Null without a score, or where scores lie too far apart for bins. */
  readonly scores: Histogram | null
  readonly servedBySlice: readonly number[]
}

/**
 * A challenger and the champion of the same requests; a difference is challenger minus champion.
 */
interface ComparedChallenger {
  readonly challengerId: string
  readonly modelId: string
  readonly championModelId: string
  readonly compared: number
  readonly failed: number
  readonly differenceAvg: number | null
  readonly differenceP5: number | null
  readonly differenceP50: number | null
  readonly differenceP95: number | null
  readonly differences: Histogram | null
  readonly grades: readonly GradePair[]
}

interface GradePair {
  readonly champion: string | null
  readonly challenger: string | null
  applicants: number
}

export interface Comparison {
  readonly applicants: number
  readonly firstAtMs: number | null
  readonly lastAtMs: number | null
  /** The newest champion first. */
  readonly models: readonly ComparedModel[]
  readonly challengers: readonly ComparedChallenger[]
}

/** Values collected for a model. */
interface ModelTally {
  readonly modelId: string
  role: 'champion' | 'challenger'
  /** Position among the models of its newest request, and when that was scored. */
  position: number
  lastAtMs: number
  readonly scores: ValueDistribution
  pdAvg: number
  pdCount: number
  served: number
  readonly servedAt: ValueDistribution
  readonly latencies: Counts
}

/** Values collected for a challenger and its champion. */
interface PairTally {
  readonly challengerId: string
  readonly modelId: string
  readonly championModelId: string
  lastAtMs: number
  compared: number
  readonly differences: ValueDistribution
  failed: number
  readonly grades: Map<string, GradePair>
}

/** Applicants between two looks at the clock. */
const APPLICANTS_A_LOOK = 200

/**
 * Compares the models of a deployment over all applicants that it is given, in bounded memory. It
 * yields to the event loop, so that scores do not wait.
 */
export async function compareModels(
  portions: AsyncIterable<readonly ScannedColumns[]>,
): Promise<Comparison> {
  const tallies = new Tallies()
  const turns = new TurnTaker()
  for await (const portion of portions) {
    for (const columns of portion) {
      const adders = tallies.makeAdders(columns)
      const { wanted } = columns
      for (let index = 0; index < wanted.length; index++) {
        const row = wanted[index] ?? 0
        for (const add of adders) add(row)
        if (index % APPLICANTS_A_LOOK === 0 && turns.isOver) await turns.giveWay()
      }
    }
  }
  return tallies.comparison()
}

/** Sightings of each model and of each pair. */
class Tallies {
  private applicants = 0
  private firstAtMs = Number.POSITIVE_INFINITY
  private lastAtMs = Number.NEGATIVE_INFINITY
  private readonly models = new Map<string, ModelTally>()
  private readonly pairs = new Map<string, PairTally>()

  /** Functions that each add an applicant, by its index in the columns. */
  makeAdders(columns: ScannedColumns): ((row: number) => void)[] {
    const { models, requestOfRow } = columns
    const [champion] = models
    if (champion === undefined) return []
    const countRow = (row: number) => {
      const atMs = columns.scoredAtMs(requestOfRow[row] ?? 0)
      this.applicants++
      if (atMs < this.firstAtMs) this.firstAtMs = atMs
      if (atMs > this.lastAtMs) this.lastAtMs = atMs
    }
    return [
      countRow,
      ...models.map((model, position) => this.modelAdder(columns, model, position)),
      ...models.slice(1).map((model) => this.pairAdder(columns, champion, model)),
    ]
  }

  private modelAdder(columns: ScannedColumns, model: ScannedModel, position: number) {
    const tally = this.models.get(model.modelId) ?? newModelTally(model)
    this.models.set(model.modelId, tally)
    const { scored, scores, pds, role } = model
    return (row: number) => {
      const request = columns.requestOfRow[row] ?? 0
      const atMs = columns.scoredAtMs(request)
      if (atMs >= tally.lastAtMs) Object.assign(tally, { lastAtMs: atMs, role, position })
      if (scored[row] === 1) {
        tally.scores.add(scores[row] ?? 0)
        const pd = pds[row] ?? Number.NaN
        if (!Number.isNaN(pd)) tally.pdAvg += (pd - tally.pdAvg) / ++tally.pdCount
      }
      if (columns.served(request) !== position) return
      const shareMs = latencyShareMs(columns.latencyMs(request), columns.applicants(request))
      const bucket = findLatencyBucket(shareMs)
      tally.served++
      tally.servedAt.add(atMs)
      tally.latencies.set(bucket, (tally.latencies.get(bucket) ?? 0) + 1)
    }
  }

  private pairAdder(columns: ScannedColumns, champion: ScannedModel, challenger: ScannedModel) {
    const challengerId = challenger.challengerId ?? ''
    const name = `${challengerId} ${champion.modelId}`
    const tally = this.pairs.get(name) ?? newPairTally(challengerId, challenger, champion)
    this.pairs.set(name, tally)
    /** Pairs of this part by the indexes of their grades. */
    const pairs = new Map<number, GradePair>()
    return (row: number) => {
      tally.lastAtMs = Math.max(tally.lastAtMs, columns.scoredAtMs(columns.requestOfRow[row] ?? 0))
      if (challenger.scored[row] !== 1 || champion.scored[row] !== 1) {
        tally.failed++
        return
      }
      tally.compared++
      const difference = (challenger.scores[row] ?? 0) - (champion.scores[row] ?? 0)
      // The difference of the largest scores can overflow.
      if (Number.isFinite(difference)) tally.differences.add(difference)
      const from = findGradeIndex(champion, row)
      const to = findGradeIndex(challenger, row)
      const key = from * GRADES_MAX + to
      const pair =
        pairs.get(key) ?? gradePair(tally, champion.gradeNames[from], challenger.gradeNames[to])
      pairs.set(key, pair)
      pair.applicants++
    }
  }

  comparison(): Comparison {
    const newestFirst = (a: { lastAtMs: number }, b: { lastAtMs: number }) =>
      b.lastAtMs - a.lastAtMs
    const models = [...this.models.values()].sort(
      (a, b) => newestFirst(a, b) || a.position - b.position,
    )
    const champion = models.findIndex(({ role }) => role === 'champion')
    if (champion > 0) models.unshift(...models.splice(champion, 1))
    const scale = scaleOver(models.map(({ scores }) => scores))
    const { applicants, firstAtMs, lastAtMs } = this
    const isEmpty = applicants === 0
    return {
      applicants,
      firstAtMs: isEmpty ? null : firstAtMs,
      lastAtMs: isEmpty ? null : lastAtMs,
      models: models.map((tally) => ({
        modelId: tally.modelId,
        role: tally.role,
        scored: tally.scores.count,
        served: tally.served,
        scoreAvg: tally.scores.average,
        pdAvg: tally.pdCount === 0 ? null : tally.pdAvg,
        latencyP50Ms: latencyPercentileMs(tally.latencies, 0.5),
        latencyP95Ms: latencyPercentileMs(tally.latencies, 0.95),
        scores: tally.scores.histogram(scale),
        servedBySlice: listSlices(tally.servedAt, firstAtMs, lastAtMs),
      })),
      challengers: [...this.pairs.values()].sort(newestFirst).map(comparedChallenger),
    }
  }
}

/** More than a model can have; an index for none can be larger. */
const GRADES_MAX = 0x1_0000

/** -1 for none. */
function findGradeIndex({ grades, gradeNames }: ScannedModel, row: number): number {
  const index = grades[row] ?? -1
  return index < gradeNames.length ? index : -1
}

function newModelTally({ modelId, role }: ScannedModel): ModelTally {
  return {
    modelId,
    role,
    position: 0,
    lastAtMs: Number.NEGATIVE_INFINITY,
    scores: new ValueDistribution(),
    pdAvg: 0,
    pdCount: 0,
    served: 0,
    servedAt: new ValueDistribution(),
    latencies: new Map(),
  }
}

function newPairTally(
  challengerId: string,
  challenger: ScannedModel,
  champion: ScannedModel,
): PairTally {
  return {
    challengerId,
    modelId: challenger.modelId,
    championModelId: champion.modelId,
    lastAtMs: Number.NEGATIVE_INFINITY,
    compared: 0,
    differences: new ValueDistribution(),
    failed: 0,
    grades: new Map(),
  }
}

function gradePair(
  { grades }: PairTally,
  champion: string | null = null,
  challenger: string | null = null,
): GradePair {
  const names = { champion, challenger }
  const key = JSON.stringify(names)
  const pair = grades.get(key) ?? { ...names, applicants: 0 }
  grades.set(key, pair)
  return pair
}

function listSlices(servedAt: ValueDistribution, firstAtMs: number, lastAtMs: number): number[] {
  const width = (lastAtMs - firstAtMs + 1) / COMPARISON_SLICES
  const counts = Array.from({ length: COMPARISON_SLICES }, () => 0)
  servedAt.forEach((atMs, times) => {
    const slice = Math.floor((atMs - firstAtMs) / width)
    const known = Math.min(COMPARISON_SLICES - 1, Math.max(0, slice))
    counts[known] = (counts[known] ?? 0) + times
  })
  return counts
}

function comparedChallenger(tally: PairTally): ComparedChallenger {
  const { differences } = tally
  const [p5 = null, p50 = null, p95 = null] = differences.percentiles([0.05, 0.5, 0.95])
  return {
    challengerId: tally.challengerId,
    modelId: tally.modelId,
    championModelId: tally.championModelId,
    compared: tally.compared,
    failed: tally.failed,
    differenceAvg: differences.average,
    differenceP5: p5,
    differenceP50: p50,
    differenceP95: p95,
    differences: differences.histogram(scaleOver([differences])),
    grades: [...tally.grades.values()],
  }
}
