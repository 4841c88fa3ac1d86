import { type FeatureOutcome, loggedFeature, type StoredModel } from '../../log/index.ts'
import { type BinOrder, findOrder } from './statistics/bin-order.ts'
import { computeZ, jeffreysInterval, weightOfEvidence } from './statistics/calibration.ts'
import type { Direction } from './statistics/discrimination.ts'
import { inTurns } from './statistics/in-turns.ts'
import type { PerformanceTally } from './tally.ts'

type Card = NonNullable<StoredModel['card']>

export interface BinPerformance {
  readonly outcome: FeatureOutcome
  /** Index in the spec; null for none. */
  readonly bin: number | null
  readonly points: number
  readonly n: number
  readonly good: number
  readonly bad: number
  readonly badRate: number
  readonly badRateLow: number
  readonly badRateHigh: number
  readonly woe: number | null
  readonly z: number | null
}

export interface FeaturePerformance {
  readonly name: string
  readonly order: BinOrder
  readonly bins: readonly BinPerformance[]
}

/** All applicants of both classes, and which scores are better. */
interface Sides {
  readonly goods: number
  readonly bads: number
  readonly direction: Direction
}

/** An interval of a bin takes some twenty microseconds. */
const BINS_A_LOOK = 10

/** Returns what became of the applicants of each bin. It gives way to the event loop. */
export async function listFeatures(
  tally: PerformanceTally,
  card: Card,
  { goods, bads, direction }: Sides,
): Promise<FeaturePerformance[]> {
  const features: FeaturePerformance[] = []
  for (const [feature, { name }] of card.spec.features.entries()) {
    const bins: BinPerformance[] = []
    await inTurns(
      findBins(tally, card, feature),
      ({ group, outcome, bin, points }) => {
        const { n, bad, pdSum, pdVariance } = group
        const { low, high } = jeffreysInterval(bad, n)
        bins.push({
          outcome,
          bin,
          points,
          n,
          good: n - bad,
          bad,
          badRate: bad / n,
          badRateLow: low,
          badRateHigh: high,
          woe: weightOfEvidence(n - bad, bad, goods, bads),
          z: computeZ(bad, pdSum, pdVariance),
        })
      },
      BINS_A_LOOK,
    )
    features.push({ name, order: findOrder(bins, direction), bins })
  }
  return features
}

/** The cells of a feature in the order of its bins. */
function findBins({ byCell }: PerformanceTally, card: Card, feature: number) {
  const bins = [...(byCell[feature] ?? [])].map(([cell, group]) => ({
    ...loggedFeature(card.model, feature, cell),
    group,
  }))
  const findPlace = ({ bin, outcome }: { bin: number | null; outcome: FeatureOutcome }) =>
    bin === null || outcome !== 'matched' ? Number.MAX_SAFE_INTEGER : bin
  return bins.sort((a, b) => findPlace(a) - findPlace(b) || (a.outcome < b.outcome ? -1 : 1))
}
