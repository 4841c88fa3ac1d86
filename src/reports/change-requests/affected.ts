import type { Card, CellColumns, LogReader, StoredModels } from '../../log/index.ts'
import { TurnTaker } from '../../platform/turn-taker.ts'
import { CellMaps, type FeatureMap } from '../backtest/cell-maps.ts'

/** Applicants, and what the log tells of their scores. */
export interface ExchangeCount {
  /** Applicants that were looked at. */
  readonly n: number
  /** Applicants whose score would differ. */
  readonly changed: number
  /** Applicants for whom the logged bins leave it open. */
  readonly undecided: number
}

/** Applicants of whom the log tells what other models would have given. */
export interface AffectedCount extends ExchangeCount {
  /** Applicants of each exchange, in the order of the query. */
  readonly exchanges: readonly ExchangeCount[]
  /** True if the whole period was looked at. */
  readonly isComplete: boolean
}

/** A model that scores in the place of another. */
export interface Exchange {
  /** Whose logged scores are compared. */
  readonly fromModelId: string
  /** Null: nothing would score, so that all are changed. */
  readonly toModel: Card | null
}

interface AffectedQuery {
  readonly teamId: string
  readonly deploymentId: string
  readonly fromMs: number
  readonly toMs: number
  readonly exchanges: readonly Exchange[]
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
  {
    reader,
    models,
  }: { readonly reader: Pick<LogReader, 'cells'>; readonly models: Pick<StoredModels, 'get'> },
  query: AffectedQuery,
  { applicantsMax, timeoutMs }: AffectedBounds,
): Promise<AffectedCount> {
  const { teamId, deploymentId } = query
  const endMs = performance.now() + timeoutMs
  const counter = new AffectedCounter(query.exchanges, applicantsMax)
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

type Counts = { -readonly [Name in keyof ExchangeCount]: number }
type Comparison = 'same' | 'changed' | 'undecided'

class AffectedCounter {
  private readonly whole: Counts = noCounts()
  private readonly counted: readonly { readonly of: Exchange; readonly counts: Counts }[]
  private readonly applicantsMax: number
  private readonly maps = new Map<Card, CellMaps>()
  private readonly turns = new TurnTaker()

  constructor(exchanges: readonly Exchange[], applicantsMax: number) {
    this.counted = exchanges.map((of) => ({ of, counts: noCounts() }))
    this.applicantsMax = applicantsMax
    for (const { toModel } of exchanges) {
      if (toModel !== null) this.maps.set(toModel, new CellMaps(toModel))
    }
  }

  get isFull(): boolean {
    return this.whole.n >= this.applicantsMax
  }

  get counts(): Omit<AffectedCount, 'isComplete'> {
    return { ...this.whole, exchanges: this.counted.map(({ counts }) => counts) }
  }

  async add(
    columns: CellColumns,
    own: readonly (Card | null)[],
    isOver: () => boolean,
  ): Promise<void> {
    const featuresOf = new Map<Card, readonly FeatureMap[]>()
    for (const [card, maps] of this.maps) featuresOf.set(card, maps.makeMaps(columns, own))
    const parts = this.counted.flatMap(({ of: { fromModelId, toModel }, counts }) => {
      const from = columns.models.find(({ modelId }) => modelId === fromModelId)
      return from === undefined
        ? []
        : [{ scored: from.scored, scores: from.results().scores, toModel, counts }]
    })
    if (parts.length === 0) return
    for (const [index, row] of columns.wanted.entries()) {
      if (index % ROWS_A_LOOK === 0) {
        if (isOver()) return
        if (this.turns.isOver) await this.turns.giveWay()
      }
      const bounds = new Map<Card, ScoreBounds>()
      const found = new Set<Comparison>()
      for (const { scored, scores, toModel, counts } of parts) {
        if (scored[row] !== 1) continue
        const features = toModel === null ? undefined : featuresOf.get(toModel)
        let compared: Comparison = 'changed'
        if (toModel !== null && features !== undefined) {
          const known = bounds.get(toModel) ?? scoreBounds(toModel, features, row)
          bounds.set(toModel, known)
          compared = comparison(scores[row] ?? Number.NaN, known)
        }
        note(counts, compared)
        found.add(compared)
      }
      if (found.size === 0) continue
      note(this.whole, ORDER.find((one) => found.has(one)) ?? 'same')
    }
  }
}

/** Precedence of the exchanges of an applicant, the first first. */
const ORDER: readonly Comparison[] = ['changed', 'undecided', 'same']

function noCounts(): Counts {
  return { n: 0, changed: 0, undecided: 0 }
}

function note(counts: Counts, compared: Comparison): void {
  counts.n++
  if (compared !== 'same') counts[compared]++
}

interface ScoreBounds {
  readonly low: number
  readonly high: number
}

function comparison(score: number, { low, high }: ScoreBounds): Comparison {
  if (score < low || score > high) return 'changed'
  return low === high ? 'same' : 'undecided'
}

/** Sums in the order of the spec, so that equal bounds are the bits that scoring gives. */
function scoreBounds({ model }: Card, maps: readonly FeatureMap[], row: number): ScoreBounds {
  let low = model.basePoints
  let high = model.basePoints
  for (const map of maps) {
    const points = map.of(row)
    low += points.low
    high += points.high
  }
  return { low, high }
}
