import { type CompiledModel, listRules, probabilityOfDefault } from '../../engine/index.ts'
import type { Card, CellColumns } from '../../log/index.ts'
import type { TurnTaker } from '../../platform/turn-taker.ts'
import { populationStability } from '../monitoring/statistics/population-stability.ts'
import { makeKey } from '../performance/labelled-applicants.ts'
import type { Direction } from '../performance/statistics/discrimination.ts'
import { CandidatePerformance, type KnownOutcomes } from './candidate-performance.ts'
import { CellMaps, computePoints, type FeatureMap } from './cell-maps.ts'
import { SwapSet } from './swap-set.ts'
import { ANY_VALUE } from './value-set.ts'

/**
 * Results that a candidate card would have given to logged applicants, as far as their logged cells
 * tell. The score of an applicant lies between two bounds that some values with these cells give;
 * it is exact, to the bit, where the bounds are equal.
 */
export class Backtest {
  private readonly candidate: Card
  private readonly maps: CellMaps
  private readonly bands: ScoreBands
  private readonly swaps: readonly SwapSet[]
  private readonly exactOfFeature: number[]
  private readonly impossible: boolean[]
  private readonly performance: CandidatePerformance | null
  private n = 0
  private exact = 0
  private readonly sums = { exact: 0, low: 0, high: 0 }

  /** @param outcomes null where none are asked for */
  constructor(candidate: Card, cutoffs: readonly number[], outcomes: KnownOutcomes | null = null) {
    this.candidate = candidate
    const { model, spec } = candidate
    const rules = listRules(model)
    this.maps = new CellMaps(candidate, rules)
    const all = rules.map((rule) => computePoints(rule, ANY_VALUE))
    const sum = (end: 'low' | 'high') =>
      all.reduce((score, points) => score + points[end], model.basePoints)
    this.bands = new ScoreBands(sum('low'), sum('high'))
    this.swaps = cutoffs.map((cutoff) => new SwapSet(cutoff, findSign(model)))
    this.exactOfFeature = spec.features.map(() => 0)
    this.impossible = spec.features.map(() => false)
    const pd = (score: number) => computePd(model, score)
    this.performance =
      outcomes === null ? null : new CandidatePerformance(outcomes, findSign(model), pd)
  }

  /**
   * Adds the wanted applicants of these columns.
   *
   * @param cards those of their models by id
   * @throws Error if the logged results can't be read
   */
  async add(
    columns: CellColumns,
    cards: ReadonlyMap<string, { readonly card: Card | null }>,
    turns: TurnTaker,
  ): Promise<void> {
    const own = columns.models.map(({ modelId }) => cards.get(modelId)?.card ?? null)
    const maps = this.maps.makeMaps(columns, own)
    for (const [feature, { isImpossible }] of maps.entries()) {
      if (isImpossible) this.impossible[feature] = true
    }
    const results = columns.models.map((model) => model.results())
    for (const row of columns.wanted) {
      // A row of the largest card takes up to 15 ms where its cells were not met before.
      if (turns.isOver) await turns.giveWay()
      const request = columns.requestOfRow[row] ?? 0
      const served = columns.served(request)
      const result = results[served]
      const score = this.addRow(row, maps, {
        score: result?.scores[row] ?? Number.NaN,
        pd: result?.pds[row] ?? Number.NaN,
        sign: findSign(own[served]?.model ?? this.candidate.model),
      })
      if (this.performance === null) continue
      const key = makeKey({
        requestId: columns.requestId(request),
        recordIndex: columns.recordIndex(row),
      })
      this.performance.add(key, columns.reference(row), score)
    }
  }

  /** The result of what was added. It gives way to the event loop. */
  async result() {
    const { n, exact, sums } = this
    const { spec } = this.candidate
    const [swapSet = null] = this.swaps
    return {
      n,
      exact_share: n === 0 ? null : exact / n,
      features: spec.features.map(({ name }, index) => {
        const share = n === 0 ? null : (this.exactOfFeature[index] ?? 0) / n
        const map = this.impossible[index] ? 'impossible' : share === 1 ? 'exact' : 'bounded'
        return { name, map: share === null ? null : map, exact_share: share }
      }),
      scores: {
        // A mean over some of the applicants can lie outside of the bounds for all.
        mean: n === 0 || exact < n ? null : sums.exact / n,
        mean_low: n === 0 ? null : sums.low / n,
        mean_high: n === 0 ? null : sums.high / n,
        bands: this.bands.bands,
      },
      psi: this.bands.stability,
      swap_set: swapSet?.fields ?? null,
      swap_sets: this.swaps.map(({ fields }) => fields),
      performance: (await this.performance?.fields()) ?? null,
    }
  }

  /** @returns the score, or null where it is not exact */
  private addRow(
    row: number,
    maps: readonly FeatureMap[],
    served: { readonly score: number; readonly pd: number; readonly sign: number },
  ): number | null {
    const { model } = this.candidate
    // Sums in the order of the spec: rounding is monotone, so the bounds hold, and equal bounds are
    // the bits that scoring gives.
    let low = model.basePoints
    let high = model.basePoints
    for (let feature = 0; feature < maps.length; feature++) {
      const points = maps[feature]?.of(row)
      if (points === undefined) continue
      low += points.low
      high += points.high
      if (points.low === points.high) {
        this.exactOfFeature[feature] = (this.exactOfFeature[feature] ?? 0) + 1
      }
    }
    this.n++
    this.sums.low += low
    this.sums.high += high
    if (low === high) {
      this.exact++
      this.sums.exact += low
    }
    this.bands.add(low, high, served.score)
    const score = low === high ? low : null
    if (this.swaps.length === 0) return score
    const ends = [computePd(model, low), computePd(model, high)]
    const pd = { low: Math.min(...ends), high: Math.max(...ends) }
    for (const swap of this.swaps) swap.add(served, { low, high, pd })
    return score
  }
}

/** 1 where a higher score is a lower risk, also without a scale; -1 where it is a higher one. */
function findSign({ scale }: CompiledModel): Direction {
  return scale !== null && scale.factor < 0 ? -1 : 1
}

function computePd({ scale }: CompiledModel, score: number): number {
  return scale === null ? Number.NaN : probabilityOfDefault(scale, score)
}

const BAND_POINTS = 20
const BANDS_MAX = 200
/** Applicants that stand for none, after which shares are taken anew. */
const ZERO_FILL = 0.5

/** Scores by bands of equal width, in points: [min, max). */
export class ScoreBands {
  private readonly first: number
  private readonly width: number
  private readonly sure: number[]
  private readonly possible: number[]
  /** Exact scores, and the scores that were served to the same applicants. */
  private readonly exact: number[]
  private readonly served: number[]

  /** @param low least score that the card can give; @param high the most */
  constructor(low: number, high: number) {
    this.width = BAND_POINTS * Math.max(1, Math.ceil((high - low) / BAND_POINTS / BANDS_MAX))
    this.first = Math.floor(low / this.width)
    const bands = Math.floor(high / this.width) - this.first + 1
    this.sure = new Array<number>(bands).fill(0)
    this.possible = [...this.sure]
    this.exact = [...this.sure]
    // One more at each end: the served model can give any score.
    this.served = new Array<number>(bands + 2).fill(0)
  }

  add(low: number, high: number, served: number): void {
    const from = this.findBand(low)
    const to = this.findBand(high)
    for (let band = from; band <= to; band++) add(this.possible, band)
    if (from === to) add(this.sure, from)
    if (low !== high) return
    add(this.exact, from)
    const band = Math.floor(served / this.width) - this.first + 1
    add(this.served, Math.min(this.served.length - 1, Math.max(0, band)))
  }

  /** Bands that an applicant can be in. */
  get bands() {
    return this.sure.flatMap((surely, band) => {
      const possibly = this.possible[band] ?? 0
      if (possibly === 0) return []
      const min = (this.first + band) * this.width
      return { min, max: min + this.width, n: surely, n_possible: possibly }
    })
  }

  /** Compares exact scores with those that were served to the same applicants. */
  get stability() {
    const n = this.exact.reduce((sum, count) => sum + count, 0)
    const actual = [0, ...this.exact, 0]
    const fill = { kind: 'count', count: ZERO_FILL } as const
    const { psi, zeroBins } = populationStability(this.served, actual, fill)
    return {
      psi,
      n,
      against: 'served',
      zero_fill: ZERO_FILL,
      zero_bins: zeroBins,
      band_points: this.width,
    }
  }

  private findBand(score: number): number {
    return Math.floor(score / this.width) - this.first
  }
}

function add(counts: number[], index: number): void {
  counts[index] = (counts[index] ?? 0) + 1
}
