import { AppError } from '../../errors.ts'
import type {
  CountedResults,
  CountsReader,
  FlatCounts,
  PartReader,
  ScannedColumns,
} from '../../log/index.ts'
import { ExactSum } from '../../platform/exact-sum.ts'
import type { ScoreBand } from './baseline.ts'
import type { FeatureLayout } from './cell-layout.ts'

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
    return this.n === 0 ? null : this.scores.meanOver(this.n)
  }

  addScores(scores: Float64Array, rows: Int32Array): void {
    this.n += rows.length
    for (let index = 0; index < rows.length; index++) {
      this.scores.add(scores[rows[index] ?? 0] ?? 0)
    }
  }

  addSum({ n, scoreSum }: CountedResults): void {
    this.n += n
    for (const term of scoreSum) this.scores.add(term)
  }
}

interface TallyOptions {
  readonly modelId: string
  readonly population: Population
  readonly layouts: readonly FeatureLayout[]
  readonly bands: readonly ScoreBand[]
  /** Start of the period of a time; absent: one period, which starts at 0. */
  readonly findStart?: (atMs: number) => number
  /** See `COUNTS_MAX`. */
  readonly countsMax?: number
  /** See `POINT_FEATURES_MAX`. */
  readonly pointFeaturesMax?: number
}

/** Features of all points of one answer: it has about 15 megabytes. */
const POINT_FEATURES_MAX = 100_000

/** Counts that are kept at a time, over all periods: 32 MiB. */
export const COUNTS_MAX = 4_000_000

const COUNT_BYTES = 8

/** Counts the results of a model by period, feature and cell. */
export class ModelTallies {
  private readonly options: TallyOptions
  private readonly byStart = new Map<number, ModelTally>()
  /** Offsets of the counts of each feature. */
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
  readCounts(tally: ModelTally, feature: number): Float64Array {
    const start = this.starts[feature] ?? 0
    return tally.counts.subarray(start, this.starts[feature + 1] ?? this.cells)
  }

  /** See `ApplicantReader`. */
  get memoryMiB(): number {
    const { findStart, bands, countsMax = COUNTS_MAX } = this.options
    const counts = findStart === undefined ? this.cells + bands.length : countsMax
    return (COUNT_BYTES * counts) / 2 ** 20
  }

  /** See `ApplicantReader`. */
  get takers(): string {
    return takersOfModel(this.options)
  }

  readonly makeReader = (columns: ScannedColumns): PartReader | null => {
    const { modelId, population, findStart } = this.options
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
        const { scores, cells } = model
        const count = (startMs: number, rows: Int32Array) =>
          this.count(this.tallyAt(startMs), rows, { scores, cells })
        if (findStart === undefined) return (rows) => count(0, rows)
        const startAt = (row: number) => findStart(columns.scoredAtMs(requestOfRow[row] ?? 0))
        return (rows) => eachRun(rows, startAt, count)
      }),
    }
  }

  /** See `ApplicantReader`. Counts can't say which of a reference's scorings counts. */
  readonly takeCounts: CountsReader = ({ firstAtMs, results }, isDeduped) => {
    const { modelId, population, findStart } = this.options
    const own = results.filter(
      (counted) => counted.modelId === modelId && (population === 'all' || counted.isServed),
    )
    const isEnough = ({ hasReferences, scores }: CountedResults) =>
      !(isDeduped && hasReferences) && (scores !== null || this.edges.length === 0)
    if (!own.every(isEnough)) return null
    return () => {
      for (const counted of own) this.addCounted(this.tallyAt(findStart?.(firstAtMs) ?? 0), counted)
    }
  }

  private addCounted(tally: ModelTally, counted: CountedResults): void {
    tally.addSum(counted)
    eachCount(counted.scores ?? [], (score, count) => {
      const band = this.findBand(score)
      if (band < tally.bands.length) tally.bands[band] = (tally.bands[band] ?? 0) + count
    })
    for (const [feature, layout] of this.options.layouts.entries()) {
      const counts = this.readCounts(tally, feature)
      eachCount(counted.cells[feature] ?? [], (cell, count) => {
        const place = layout.placeOf[cell] ?? -1
        if (place < 0) throw new Error('the log has a cell that its model lacks')
        counts[place] = (counts[place] ?? 0) + count
      })
    }
  }

  /** Counts applicants of one period, one column after the other. */
  private count(tally: ModelTally, rows: Int32Array, { scores, cells }: CountedColumns): void {
    tally.addScores(scores, rows)
    if (tally.bands.length > 0) {
      for (let index = 0; index < rows.length; index++) {
        const band = this.findBand(scores[rows[index] ?? 0] ?? 0)
        tally.bands[band] = (tally.bands[band] ?? 0) + 1
      }
    }
    const { layouts } = this.options
    for (let feature = 0; feature < layouts.length; feature++) {
      const layout = layouts[feature]
      if (layout === undefined) continue
      const counts = tally.counts.subarray(this.starts[feature] ?? 0)
      countCells({ counts, layout }, cells[feature] ?? [], rows)
    }
  }

  private tallyAt(startMs: number): ModelTally {
    const known = this.byStart.get(startMs)
    if (known !== undefined) return known
    const { bands, layouts, countsMax = COUNTS_MAX } = this.options
    const { pointFeaturesMax = POINT_FEATURES_MAX } = this.options
    const periods = this.byStart.size + 1
    const isTooLong =
      periods * (this.cells + bands.length) > countsMax ||
      periods * layouts.length > pointFeaturesMax
    if (periods > 1 && isTooLong) {
      const message = 'the series is too long: choose a longer interval or a shorter period'
      throw new AppError('invalid_request', message)
    }
    const tally = new ModelTally(this.cells, bands.length)
    this.byStart.set(startMs, tally)
    return tally
  }

  private findBand(score: number): number {
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

/** Names those who take the applicants of a model, see `ApplicantReader`. */
export function takersOfModel({
  modelId,
  population,
}: Pick<TallyOptions, 'modelId' | 'population'>): string {
  return `${population} ${modelId}`
}

interface CountedColumns {
  readonly scores: Float64Array
  readonly cells: readonly ArrayLike<number>[]
}

interface CellCounts {
  /** The counts of the feature come first. */
  readonly counts: Float64Array
  readonly layout: FeatureLayout
}

function countCells(
  { counts, layout }: CellCounts,
  codes: ArrayLike<number>,
  rows: Int32Array,
): void {
  const { placeOf } = layout
  for (let index = 0; index < rows.length; index++) {
    const code = codes[rows[index] ?? 0] ?? -1
    const place = placeOf[code] ?? -1
    if (place < 0) throw new Error('the log has a cell that its model lacks')
    counts[place] = (counts[place] ?? 0) + 1
  }
}

function eachCount(counts: FlatCounts, visit: (value: number, count: number) => void): void {
  for (let at = 0; at < counts.length; at += 2) visit(counts[at] ?? 0, counts[at + 1] ?? 0)
}

/** Hands over rows of the same period together. A block has one hour, and mostly one period. */
function eachRun(
  rows: Int32Array,
  startAt: (row: number) => number,
  visit: (startMs: number, rows: Int32Array) => void,
): void {
  let from = 0
  while (from < rows.length) {
    const startMs = startAt(rows[from] ?? 0)
    let end = from + 1
    while (end < rows.length && startAt(rows[end] ?? 0) === startMs) end++
    visit(startMs, rows.subarray(from, end))
    from = end
  }
}

/**
 * A function that is made when it is first called: a scan of references never needs the columns of
 * scores and cells.
 */
export function lazily(make: () => (rows: Int32Array) => void): (rows: Int32Array) => void {
  let made: ((rows: Int32Array) => void) | null = null
  return (rows) => {
    made ??= make()
    made(rows)
  }
}
