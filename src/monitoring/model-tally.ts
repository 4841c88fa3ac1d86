import { AppError } from '../errors.ts'
import type { PartReader } from '../score-log/reading/applicant-scan.ts'
import type { ScannedColumns } from '../score-log/reading/columns.ts'
import type { ScoreBand } from './baseline.ts'
import type { FeatureLayout } from './cell-layout.ts'
import { ExactSum } from './exact-sum.ts'

/** Whom a model is judged by: all that it scored, or those that it answered. */
export type Population = 'all' | 'served'

/** The results of a model in one period. */
export class ModelTally {
  n = 0
  private readonly scores = new ExactSum()
  /** Counts of the cells of all features, one feature after the other. */
  readonly counts: Float64Array
  /** Counts of the bands. */
  readonly bands: Float64Array

  constructor(cells: number, bands: number) {
    this.counts = new Float64Array(cells)
    this.bands = new Float64Array(bands)
  }

  /** Null without scores. */
  get meanScore(): number | null {
    return this.n === 0 ? null : this.scores.value / this.n
  }

  addScore(score: number): void {
    this.n++
    this.scores.add(score)
  }
}

interface TallyOptions {
  readonly modelId: string
  readonly population: Population
  readonly layouts: readonly FeatureLayout[]
  readonly bands: readonly ScoreBand[]
  /** Start of the period of a time; absent: one period, which starts at 0. */
  readonly startOf?: (atMs: number) => number
  /** See `COUNTS_MAX`. */
  readonly countsMax?: number
}

/** Counts that are kept at a time, over all periods: 32 MiB. */
export const COUNTS_MAX = 4_000_000

/** Counts the results of a model by period, feature and cell. */
export class ModelTallies {
  private readonly options: TallyOptions
  private readonly byStart = new Map<number, ModelTally>()
  /** Where the counts of each feature begin. */
  private readonly starts: readonly number[]
  private readonly cells: number
  /** Upper ends of all bands but the last. */
  private readonly edges: Float64Array

  constructor(options: TallyOptions) {
    this.options = options
    let cells = 0
    this.starts = options.layouts.map((layout) => {
      const start = cells
      cells += layout.cells.length
      return start
    })
    this.cells = cells
    this.edges = Float64Array.from(options.bands.slice(0, -1), ({ max }) => max ?? Infinity)
  }

  /** The tally of the only period. */
  get single(): ModelTally {
    return this.tallyAt(0)
  }

  /** Tallies by start of their period, oldest first. */
  get periods(): (readonly [startMs: number, tally: ModelTally])[] {
    return [...this.byStart].sort(([a], [b]) => a - b)
  }

  /** The counts of a feature's cells in a tally. */
  countsOf(tally: ModelTally, feature: number): Float64Array {
    const start = this.starts[feature] ?? 0
    return tally.counts.subarray(start, this.starts[feature + 1] ?? this.cells)
  }

  /** Reads a part of a scan. */
  readonly readerOf = (columns: ScannedColumns): PartReader | null => {
    const { modelId, population, startOf = () => 0 } = this.options
    const position = columns.models.findIndex((model) => model.modelId === modelId)
    const model = columns.models[position]
    if (model === undefined) return null
    const { scored } = model
    const { requestOfRow } = columns
    const isWanted =
      population === 'all'
        ? () => true
        : (row: number) => columns.served(requestOfRow[row] ?? 0) === position
    return {
      takes: (row) => scored[row] === 1 && isWanted(row),
      add: lazily(() => {
        const { scores } = model
        const add = this.cellAdder(model.cells, columns.isFirstForm)
        return (row) => {
          const tally = this.tallyAt(startOf(columns.scoredAtMs(requestOfRow[row] ?? 0)))
          const score = scores[row] ?? 0
          tally.addScore(score)
          if (tally.bands.length > 0) {
            const band = this.bandOf(score)
            tally.bands[band] = (tally.bands[band] ?? 0) + 1
          }
          add(tally, row)
        }
      }),
    }
  }

  private cellAdder(cells: readonly ArrayLike<number>[], isFirstForm: boolean) {
    const { layouts } = this.options
    const features = layouts.map(({ placeOf, unknownPlace }, feature) => ({
      codes: cells[feature] ?? [],
      start: this.starts[feature] ?? 0,
      placeOf,
      unknownPlace,
    }))
    return (tally: ModelTally, row: number) => {
      for (const { codes, start, placeOf, unknownPlace } of features) {
        const code = codes[row] ?? -1
        const place = code < 0 && isFirstForm ? unknownPlace : (placeOf[code] ?? -1)
        if (place < 0) throw new Error('the log has a cell that its model lacks')
        tally.counts[start + place] = (tally.counts[start + place] ?? 0) + 1
      }
    }
  }

  private tallyAt(startMs: number): ModelTally {
    const known = this.byStart.get(startMs)
    if (known !== undefined) return known
    const { bands, countsMax = COUNTS_MAX } = this.options
    const perPeriod = this.cells + bands.length
    if (this.byStart.size > 0 && (this.byStart.size + 1) * perPeriod > countsMax) {
      const message = 'the series is too long: choose a longer interval or a shorter period'
      throw new AppError('invalid_request', message)
    }
    const tally = new ModelTally(this.cells, bands.length)
    this.byStart.set(startMs, tally)
    return tally
  }

  private bandOf(score: number): number {
    let below = 0
    let above = this.edges.length
    while (below < above) {
      const middle = (below + above) >>> 1
      if ((this.edges[middle] ?? Infinity) <= score) below = middle + 1
      else above = middle
    }
    return below
  }
}

/**
 * A function that is made when it is first called: a scan of references never needs the columns of
 * scores and cells.
 */
export function lazily(make: () => (row: number) => void): (row: number) => void {
  let made: ((row: number) => void) | null = null
  return (row) => {
    made ??= make()
    made(row)
  }
}
