import type { StabilitySeries } from '../../../schemas/monitoring.ts'
import { computeMeanPoints } from './baseline.ts'
import type { ModelTallies, ModelTally } from './model-tally.ts'
import { movedBy, type StabilityInput } from './stability.ts'
import { decideVerdict, stabilityFigures } from './statistics/population-stability.ts'

type Point = Pick<StabilitySeries['points'][number], 'score' | 'features'>

/** Facts that all points share of a feature. */
interface ExpectedFeature {
  /** Places of the cells whose counts the sample knows; null without a sample. */
  readonly places: readonly number[] | null
  readonly expected: Float64Array
  /** Counts of a point at these places. */
  readonly actual: Float64Array
  readonly meanPoints: number | null
}

const NO_FIGURES = { psi: null, cv95: null }

/**
 * Makes the points of a series: the indices of `scoreStability` and `featureStabilities`, without
 * an object for each cell of each point.
 */
export class StabilityPoints {
  private readonly input: StabilityInput
  private readonly tallies: ModelTallies
  private readonly bands: readonly number[] | null
  private readonly features: readonly ExpectedFeature[]

  constructor(input: StabilityInput, tallies: ModelTallies) {
    this.input = input
    this.tallies = tallies
    this.bands = input.baseline?.bands?.map(({ n }) => n) ?? null
    this.features = input.layouts.map(({ cells }, feature) => {
      const counts = input.baseline?.features[feature] ?? null
      const places = counts && [...cells.keys()].filter((place) => (counts[place] ?? null) !== null)
      return {
        places,
        expected: Float64Array.from(places ?? [], (place) => counts?.[place] ?? 0),
        actual: new Float64Array(places?.length ?? 0),
        meanPoints: computeMeanPoints(cells, counts),
      }
    })
  }

  at(tally: ModelTally): Point {
    const { input, bands } = this
    const { zeroFill, thresholds } = input
    const score = bands === null ? NO_FIGURES : stabilityFigures(bands, tally.bands, zeroFill)
    const verdict = bands === null ? null : decideVerdict(score, thresholds)
    return {
      score: { psi: score.psi, mean: tally.meanScore, cv_95: score.cv95, verdict },
      features: input.layouts.map((_, feature) => this.featureAt(tally, feature)),
    }
  }

  private featureAt(tally: ModelTally, feature: number): Point['features'][number] {
    const { zeroFill, thresholds, layouts } = this.input
    const { name = '', cells = [] } = layouts[feature] ?? {}
    const {
      places = null,
      expected = [],
      actual = [],
      meanPoints = null,
    } = this.features[feature] ?? {}
    const counts = this.tallies.readCounts(tally, feature)
    const now = computeMeanPoints(cells, counts)
    const points = movedBy(now, meanPoints)
    if (places === null) {
      return { name, n_compared: 0, csi_psi: null, csi_points: points, cv_95: null, verdict: null }
    }
    let compared = 0
    for (const [at, place] of places.entries()) {
      const count = counts[place] ?? 0
      actual[at] = count
      compared += count
    }
    const { psi, cv95 } = stabilityFigures(expected, actual, zeroFill)
    const verdict = decideVerdict({ psi, cv95 }, thresholds)
    const figures = { csi_psi: psi, csi_points: points, cv_95: cv95, verdict }
    return { name, n_compared: compared, ...figures }
  }
}
