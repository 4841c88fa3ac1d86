import type { VersionComparison } from '../../../schemas/versions.ts'
import { PAIRS_SHOWN_MAX } from '../../../schemas/versions.ts'
import { AppError } from '../../errors.ts'
import type { PartReader, ScannedColumns } from '../../log/index.ts'
import { ExactSum } from '../../platform/exact-sum.ts'
import { type Card, type Cell, cellLayout, type FeatureLayout } from './cell-layout.ts'
import { COUNTS_MAX, lazily } from './model-tally.ts'
import { findBin } from './stability.ts'

/** A version of a card that takes part in a comparison. */
interface ComparedCard {
  readonly modelId: string
  readonly card: Card
}

/** A feature that at least one of the cards has. */
interface FeaturePair {
  readonly name: string
  readonly one: Side | null
  readonly other: Side | null
  /** Applicants by the cell of one card, and within it by the cell of the other. */
  readonly counts: Float64Array
  /** 1 where the points of the two cells differ. */
  readonly differs: Uint8Array
  readonly columns: number
}

interface Side {
  readonly feature: number
  readonly layout: FeatureLayout
}

/** A count, and whether the points differ. */
const PAIR_BYTES = 9

type FeatureChange = VersionComparison['features'][number]

/** Counts what two versions of a card give the same applicants, by feature and pair of bins. */
export class PointsTally {
  private n = 0
  private changed = 0
  private readonly one: ComparedCard
  private readonly other: ComparedCard
  private readonly newFeatures: () => FeaturePair[]
  private made: readonly FeaturePair[] | null = null
  /** See `ApplicantReader`. */
  readonly memoryMiB: number

  /**
   * @param countsMax counts that are kept at a time
   * @throws AppError `invalid_request` for cards with more pairs of bins
   */
  constructor(one: ComparedCard, other: ComparedCard, countsMax = COUNTS_MAX) {
    this.one = one
    this.other = other
    const [ofOne, ofOther] = [listSides(one.card), listSides(other.card)]
    const names = [...new Set([...ofOne.keys(), ...ofOther.keys()])]
    const pairs = names.map((name) => [name, ofOne.get(name), ofOther.get(name)] as const)
    const wanted = pairs.reduce((sum, [, a, b]) => sum + readCells(a) * readCells(b), 0)
    if (wanted > countsMax) {
      const message = `the cards have more than ${countsMax} pairs of bins: compare others`
      throw new AppError('invalid_request', message)
    }
    this.memoryMiB = (wanted * PAIR_BYTES) / 2 ** 20
    this.newFeatures = () => pairs.map(([name, a = null, b = null]) => featurePair(name, a, b))
  }

  /** Made with the first use: a comparison that waits for its turn keeps nothing. */
  private get features(): readonly FeaturePair[] {
    this.made ??= this.newFeatures()
    return this.made
  }

  /** See `ApplicantReader`. */
  get takers(): string {
    return `both ${this.one.modelId} ${this.other.modelId}`
  }

  /** Reads a part of a scan: the applicants that both scored. */
  readonly makeReader = (columns: ScannedColumns): PartReader | null => {
    const find = ({ modelId }: ComparedCard) =>
      columns.models.find((one) => one.modelId === modelId)
    const [one, other] = [find(this.one), find(this.other)]
    if (one === undefined || other === undefined) return null
    return {
      takes: (row) => one.scored[row] === 1 && other.scored[row] === 1,
      add: lazily(() => {
        const features = this.features.map((pair) => ({
          ...pair,
          place: placeReader(pair.one, one.cells),
          otherPlace: placeReader(pair.other, other.cells),
        }))
        return (rows) => {
          for (let index = 0; index < rows.length; index++) {
            const row = rows[index] ?? 0
            let isChanged = 0
            for (const { counts, differs, columns: width, place, otherPlace } of features) {
              const pair = place(row) * width + otherPlace(row)
              counts[pair] = (counts[pair] ?? 0) + 1
              isChanged |= differs[pair] ?? 0
            }
            this.n++
            this.changed += isChanged
          }
        }
      }),
    }
  }

  /**
   * Shares and means are null without applicants.
   *
   * @throws AppError `invalid_request` where a difference is beyond the range of a double
   */
  report(): Pick<
    VersionComparison,
    'n' | 'changed' | 'changed_share' | 'mean_difference' | 'features'
  > {
    const { n, changed, one, other } = this
    const features = this.features.map((pair) => this.featureChange(pair))
    const mean = new ExactSum()
    mean.add(other.card.spec.base_points - one.card.spec.base_points)
    for (const { mean_difference } of features) mean.add(mean_difference ?? 0)
    if (!Number.isFinite(mean.value)) throw tooFarApart()
    return {
      n,
      changed,
      changed_share: n === 0 ? null : changed / n,
      mean_difference: n === 0 ? null : mean.value,
      features,
    }
  }

  private featureChange(pair: FeaturePair): FeatureChange {
    const { n, one, other } = this
    const sum = new ExactSum()
    let changed = 0
    let found: FoundPair[] = []
    for (const [index, count] of pair.counts.entries()) {
      if (count === 0) continue
      const cell = pair.one?.layout.cells[Math.floor(index / pair.columns)] ?? null
      const otherCell = pair.other?.layout.cells[index % pair.columns] ?? null
      const difference = computePoints(otherCell) - computePoints(cell)
      if (difference === 0) continue
      if (!Number.isFinite(difference)) throw tooFarApart()
      changed += count
      sum.add((difference * count) / n)
      found.push({ count, cell, otherCell, difference })
      // There can be millions of them.
      if (found.length >= 2 * PAIRS_SHOWN_MAX) found = mostMet(found)
    }
    return {
      name: pair.name,
      in_model: pair.one !== null,
      in_other: pair.other !== null,
      changed,
      changed_share: n === 0 ? null : changed / n,
      mean_difference: n === 0 ? null : sum.value,
      pairs: mostMet(found).map(({ count, cell, otherCell, difference }) => ({
        n: count,
        cell: cellFields(one.card, pair.one, cell),
        other_cell: cellFields(other.card, pair.other, otherCell),
        difference,
      })),
    }
  }
}

function tooFarApart(): AppError {
  const message = 'the points of the cards differ by more than a number of JSON can tell'
  return new AppError('invalid_request', message)
}

/** Cells of both cards that some applicants have. */
interface FoundPair {
  readonly count: number
  readonly cell: Cell | null
  readonly otherCell: Cell | null
  readonly difference: number
}

/** Returns those that are shown, most applicants first; of equal ones the first. */
function mostMet(pairs: readonly FoundPair[]): FoundPair[] {
  return [...pairs].sort((a, b) => b.count - a.count).slice(0, PAIRS_SHOWN_MAX)
}

function listSides(card: Card): Map<string, Side> {
  return new Map(cellLayout(card).map((layout, feature) => [layout.name, { feature, layout }]))
}

/** A card without the feature gives everybody its one cell, of no points. */
function readCells(side: Side | null | undefined): number {
  return side?.layout.cells.length ?? 1
}

function featurePair(name: string, one: Side | null, other: Side | null): FeaturePair {
  const [rows, columns] = [readCells(one), readCells(other)]
  const differs = new Uint8Array(rows * columns)
  for (let pair = 0; pair < differs.length; pair++) {
    const points = computePoints(one?.layout.cells[Math.floor(pair / columns)] ?? null)
    const otherPoints = computePoints(other?.layout.cells[pair % columns] ?? null)
    if (points !== otherPoints) differs[pair] = 1
  }
  return { name, one, other, counts: new Float64Array(rows * columns), differs, columns }
}

function computePoints(cell: Cell | null): number {
  return cell?.points ?? 0
}

/** Place of an applicant's cell among those of a feature. */
function placeReader(
  side: Side | null,
  cells: readonly ArrayLike<number>[],
): (row: number) => number {
  if (side === null) return () => 0
  const { placeOf } = side.layout
  const codes = cells[side.feature] ?? []
  return (row) => {
    const code = codes[row] ?? -1
    const place = placeOf[code] ?? -1
    if (place < 0) throw new Error('the log has a cell that its model lacks')
    return place
  }
}

function cellFields(card: Card, side: Side | null, cell: Cell | null) {
  if (side === null || cell === null) return null
  const { outcome, bin, points } = cell
  return { outcome, bin: bin === null ? null : findBin(card, side.feature, bin), points }
}
