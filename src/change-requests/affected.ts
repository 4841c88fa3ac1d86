import { CellMaps, type FeatureMap } from '../backtest/cell-maps.ts'
import type { Card } from '../reading/logged-feature.ts'
import type { CellColumns } from '../score-log/reading/cell-columns.ts'
import type { LogReader } from '../score-log/reading/log-reader.ts'
import type { StoredModels } from '../score-log/reading/stored-models.ts'
import { TurnTaker } from '../score-log/reading/turn-taker.ts'

/** Applicants of whom the log tells what another model would have given. */
export interface AffectedCount {
  /** Applicants that were looked at. */
  readonly n: number
  /** Those whose score would differ. */
  readonly changed: number
  /** Those for whom the logged bins leave it open. */
  readonly undecided: number
  /** Whether the whole period was looked at. */
  readonly isComplete: boolean
}

export interface AffectedQuery {
  readonly teamId: string
  readonly deploymentId: string
  readonly fromMs: number
  readonly toMs: number
  /** Whose logged scores are compared. */
  readonly fromModelId: string
  /** What would score in its place; null: nothing would, so that all are changed. */
  readonly toModel: Card | null
}

export interface AffectedBounds {
  readonly applicantsMax: number
  readonly timeoutMs: number
}

const DAY_MS = 24 * 3_600_000
/** Rows between two looks at the clock. */
const ROWS_A_LOOK = 200

/**
 * Counts logged applicants whose score would differ, day by day from the newest to the oldest,
 * until a bound is met. A score follows from the logged cells like in a backtest.
 */
export async function countAffected(
  { reader, models }: { readonly reader: Pick<LogReader, 'cells'>; readonly models: StoredModels },
  query: AffectedQuery,
  { applicantsMax, timeoutMs }: AffectedBounds,
): Promise<AffectedCount> {
  const { teamId, deploymentId } = query
  const endMs = performance.now() + timeoutMs
  const counter = new AffectedCounter(query, applicantsMax)
  const isOver = () => counter.isFull || performance.now() > endMs
  for (let toMs = query.toMs; toMs > query.fromMs; toMs -= DAY_MS) {
    const fromMs = Math.max(query.fromMs, toMs - DAY_MS)
    for await (const portion of reader.cells({ teamId, deploymentId, fromMs, toMs })) {
      for (const columns of portion) {
        const cards = await models.get(columns.models.map(({ modelId }) => modelId))
        const own = columns.models.map(({ modelId }) => cards.get(modelId)?.card ?? null)
        await counter.add(columns, own, isOver)
      }
      if (isOver()) return { ...counter.counts, isComplete: false }
    }
  }
  return { ...counter.counts, isComplete: true }
}

class AffectedCounter {
  readonly counts = { n: 0, changed: 0, undecided: 0 }
  private readonly query: AffectedQuery
  private readonly applicantsMax: number
  private readonly maps: CellMaps | null
  private readonly turns = new TurnTaker()

  constructor(query: AffectedQuery, applicantsMax: number) {
    this.query = query
    this.applicantsMax = applicantsMax
    this.maps = query.toModel === null ? null : new CellMaps(query.toModel)
  }

  get isFull(): boolean {
    return this.counts.n >= this.applicantsMax
  }

  async add(
    columns: CellColumns,
    own: readonly (Card | null)[],
    isOver: () => boolean,
  ): Promise<void> {
    const { fromModelId, toModel } = this.query
    const position = columns.models.findIndex(({ modelId }) => modelId === fromModelId)
    const from = columns.models[position]
    if (from === undefined) return
    const maps = this.maps?.mapsOf(columns, own) ?? null
    const { scores } = from.results()
    for (const [index, row] of columns.wanted.entries()) {
      if (index % ROWS_A_LOOK === 0) {
        if (isOver()) return
        if (this.turns.isOver) await this.turns.giveWay()
      }
      if (from.scored[row] !== 1) continue
      this.counts.n++
      if (maps === null || toModel === null) this.counts.changed++
      else this.compare(scores[row] ?? Number.NaN, scoreBounds(toModel, maps, row))
    }
  }

  private compare(score: number, { low, high }: { low: number; high: number }): void {
    if (score < low || score > high) this.counts.changed++
    else if (low !== high) this.counts.undecided++
  }
}

/** Sums in the order of the spec, so that equal bounds are the bits that scoring gives. */
function scoreBounds({ model }: Card, maps: readonly FeatureMap[], row: number) {
  let low = model.basePoints
  let high = model.basePoints
  for (const map of maps) {
    const points = map.of(row)
    low += points.low
    high += points.high
  }
  return { low, high }
}
