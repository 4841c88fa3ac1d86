import { setImmediate } from 'node:timers/promises'
import { COMPARISON_SLICES } from '../../schemas/stats.ts'
import { type ModelResults, readModels } from '../scorelog/record.ts'

/** One request of the log, with what all models said of its applicants. */
export interface LoggedRequest {
  readonly scoredAtMs: number
  readonly latencyMs: number
  readonly servedModelId: string
  /** See `RECORD_FIELDS`. */
  readonly resultsText: string
}

/** Counts by bins of one width: bin n is `[low + n × width, low + (n + 1) × width)`. */
export interface Histogram {
  readonly low: number
  readonly width: number
  readonly counts: number[]
}

/** What one model said; latencies are of the requests that it answered. */
export interface ComparedModel {
  readonly modelId: string
  /** In the newest of its requests. */
  readonly role: 'champion' | 'challenger'
  readonly scored: number
  readonly served: number
  readonly scoreAvg: number | null
  readonly pdAvg: number | null
  readonly latencyP50Ms: number | null
  readonly latencyP95Ms: number | null
  /** Null without a score, or where scores lie too far apart to be counted by bins. */
  readonly scores: Histogram | null
  readonly servedBySlice: readonly number[]
}

/** A challenger beside the champion of the same requests; differences are its score less the champion's. */
export interface ComparedChallenger {
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
  readonly grades: readonly {
    readonly champion: string | null
    readonly challenger: string | null
    readonly applicants: number
  }[]
}

export interface Comparison {
  readonly applicants: number
  readonly firstAtMs: number | null
  readonly lastAtMs: number | null
  /** The newest champion first. */
  readonly models: readonly ComparedModel[]
  readonly challengers: readonly ComparedChallenger[]
}

/** What is gathered of a model. */
interface ModelTally {
  readonly modelId: string
  readonly role: 'champion' | 'challenger'
  readonly scores: number[]
  readonly pds: number[]
  /** One for each applicant that it answered for. */
  readonly latenciesMs: number[]
  readonly servedBySlice: number[]
}

/** What is gathered of a challenger and its champion. */
interface PairTally {
  readonly challengerId: string
  readonly modelId: string
  readonly championModelId: string
  readonly differences: number[]
  failed: number
  readonly grades: Map<
    string,
    { champion: string | null; challenger: string | null; applicants: number }
  >
}

/** So many applicants take about a millisecond; then others have their turn. */
const APPLICANTS_A_TURN = 100

/**
 * Puts the models of a deployment side by side, a little at a time: scores must not wait for it.
 *
 * @param requests newest first, none of them without applicants
 */
export async function compareModels(requests: readonly LoggedRequest[]): Promise<Comparison> {
  const models = new Map<string, ModelTally>()
  const pairs = new Map<string, PairTally>()
  const lastAtMs = requests[0]?.scoredAtMs ?? null
  const firstAtMs = requests.at(-1)?.scoredAtMs ?? null
  const sliceMs = (Number(lastAtMs) - Number(firstAtMs) + 1) / COMPARISON_SLICES
  let applicants = 0
  let ofThisTurn = 0
  for (const request of requests) {
    const said = readModels(request.resultsText)
    const [champion] = said
    if (champion === undefined) continue
    const slice = Math.floor((request.scoredAtMs - Number(firstAtMs)) / sliceMs)
    const size = champion.scores.length
    applicants += size
    ofThisTurn += size
    if (ofThisTurn >= APPLICANTS_A_TURN) {
      ofThisTurn = 0
      await setImmediate()
    }
    for (const results of said) {
      tallyModel(models, results, { request, slice })
      if (results !== champion) tallyPair(pairs, champion, results)
    }
  }
  const scale = scaleOf([...models.values()].flatMap(({ scores }) => scores))
  return {
    applicants,
    firstAtMs,
    lastAtMs,
    models: [...models.values()].map((tally) => comparedModel(tally, scale)),
    challengers: [...pairs.values()].map(comparedChallenger),
  }
}

function tallyModel(
  models: Map<string, ModelTally>,
  { modelId, role, scores, pds }: ModelResults,
  { request, slice }: { readonly request: LoggedRequest; readonly slice: number },
): void {
  const tally: ModelTally = models.get(modelId) ?? {
    modelId,
    role,
    scores: [],
    pds: [],
    latenciesMs: [],
    servedBySlice: Array.from({ length: COMPARISON_SLICES }, () => 0),
  }
  models.set(modelId, tally)
  for (const score of scores) if (score !== null) tally.scores.push(score)
  for (const pd of pds) if (pd !== null) tally.pds.push(pd)
  if (request.servedModelId !== modelId) return
  for (const _ of scores) tally.latenciesMs.push(request.latencyMs)
  tally.servedBySlice[slice] = (tally.servedBySlice[slice] ?? 0) + scores.length
}

function tallyPair(
  pairs: Map<string, PairTally>,
  champion: ModelResults,
  challenger: ModelResults,
): void {
  const challengerId = challenger.challengerId ?? ''
  const name = `${challengerId} ${champion.modelId}`
  const tally: PairTally = pairs.get(name) ?? {
    challengerId,
    modelId: challenger.modelId,
    championModelId: champion.modelId,
    differences: [],
    failed: 0,
    grades: new Map(),
  }
  pairs.set(name, tally)
  const { scores, grades } = challenger
  const { scores: championScores, grades: championGrades } = champion
  for (const [index, score] of scores.entries()) {
    const championScore = championScores[index] ?? null
    if (score === null || championScore === null) {
      tally.failed++
      continue
    }
    tally.differences.push(score - championScore)
    const pair = { champion: championGrades[index] ?? null, challenger: grades[index] ?? null }
    const key = JSON.stringify([pair.champion, pair.challenger])
    const found = tally.grades.get(key)
    if (found === undefined) tally.grades.set(key, { ...pair, applicants: 1 })
    else found.applicants++
  }
}

interface Scale {
  readonly low: number
  readonly width: number
  readonly bins: number
}

const BINS_WANTED = 30

/** Bins of a round width over all values; null where there are none, or no such width is a number. */
function scaleOf(values: readonly number[]): Scale | null {
  if (values.length === 0) return null
  let least = Number.POSITIVE_INFINITY
  let most = Number.NEGATIVE_INFINITY
  for (const value of values) {
    least = Math.min(least, value)
    most = Math.max(most, value)
  }
  const width = roundWidth((most - least) / BINS_WANTED)
  const low = Math.floor(least / width) * width
  const bins = Math.floor((most - low) / width) + 1
  return Number.isFinite(low) && bins <= 2 * BINS_WANTED + 2 ? { low, width, bins } : null
}

/** The next of 1, 2 or 5 times a power of ten; at least a thousandth. */
function roundWidth(width: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(width, 0.001)))
  return ([1, 2, 5].find((times) => times * power >= width) ?? 10) * power
}

function histogramOf(values: readonly number[], scale: Scale | null): Histogram | null {
  if (scale === null || values.length === 0) return null
  const { low, width, bins } = scale
  const counts = Array.from({ length: bins }, () => 0)
  for (const value of values) {
    const bin = Math.min(bins - 1, Math.max(0, Math.floor((value - low) / width)))
    counts[bin] = (counts[bin] ?? 0) + 1
  }
  return { low, width, counts }
}

function comparedModel(tally: ModelTally, scale: Scale | null): ComparedModel {
  const latenciesMs = tally.latenciesMs.toSorted((a, b) => a - b)
  return {
    modelId: tally.modelId,
    role: tally.role,
    scored: tally.scores.length,
    served: latenciesMs.length,
    scoreAvg: averageOf(tally.scores),
    pdAvg: averageOf(tally.pds),
    latencyP50Ms: percentileOf(latenciesMs, 0.5),
    latencyP95Ms: percentileOf(latenciesMs, 0.95),
    scores: histogramOf(tally.scores, scale),
    servedBySlice: tally.servedBySlice,
  }
}

function comparedChallenger(tally: PairTally): ComparedChallenger {
  // The difference of the largest scores may be more than a number can be.
  const differences = tally.differences.filter(Number.isFinite).toSorted((a, b) => a - b)
  return {
    challengerId: tally.challengerId,
    modelId: tally.modelId,
    championModelId: tally.championModelId,
    compared: tally.differences.length,
    failed: tally.failed,
    differenceAvg: averageOf(differences),
    differenceP5: percentileOf(differences, 0.05),
    differenceP50: percentileOf(differences, 0.5),
    differenceP95: percentileOf(differences, 0.95),
    differences: histogramOf(differences, scaleOf(differences)),
    grades: [...tally.grades.values()],
  }
}

/** By shares, whose sum is a number where that of the largest scores is none; null of nothing. */
function averageOf(values: readonly number[]): number | null {
  if (values.length === 0) return null
  return values.reduce((sum, value) => sum + value / values.length, 0)
}

/** Interpolated between neighbours, as `percentile_cont` of PostgreSQL does. */
function percentileOf(rising: readonly number[], share: number): number | null {
  const rank = share * (rising.length - 1)
  const below = rising[Math.floor(rank)]
  const above = rising[Math.ceil(rank)]
  if (below === undefined || above === undefined) return null
  const part = rank - Math.floor(rank)
  return below * (1 - part) + above * part
}
