import { loggedFeature } from '../reading/logged-feature.ts'
import type { StoredModel } from '../score-log/reading/stored-models.ts'
import { type BinOrder, orderOf } from './statistics/bin-order.ts'
import { jeffreysInterval, weightOfEvidence, zOf } from './statistics/calibration.ts'
import type { Direction } from './statistics/discrimination.ts'
import { inTurns } from './statistics/in-turns.ts'
import { emptyGroup, type GroupTally, type PerformanceTally } from './tally.ts'

export type Card = NonNullable<StoredModel['card']>

export interface BinPerformance {
  /** Null where the first form of the log does not tell. */
  readonly outcome: ReturnType<typeof loggedFeature>['outcome']
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

/** What became of the applicants of each bin. It gives way to the event loop. */
export async function featuresOf(
  tally: PerformanceTally,
  card: Card,
  { goods, bads, direction }: Sides,
): Promise<FeaturePerformance[]> {
  const features: FeaturePerformance[] = []
  for (const [feature, { name }] of card.spec.features.entries()) {
    const bins: BinPerformance[] = []
    await inTurns(
      binsOf(tally, card, feature),
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
          z: zOf(bad, pdSum, pdVariance),
        })
      },
      BINS_A_LOOK,
    )
    features.push({ name, order: orderOf(bins, direction), bins })
  }
  return features
}

/** The cells of a feature in the order of its bins; both forms of the log in one. */
function binsOf({ byCell }: PerformanceTally, card: Card, feature: number) {
  const bins = new Map<string, { group: GroupTally } & ReturnType<typeof loggedFeature>>()
  for (const { cell, isFirstForm, ...group } of byCell[feature]?.values() ?? []) {
    const read = loggedFeature(card, feature, cell, isFirstForm)
    const name = `${read.outcome} ${read.bin}`
    const found = bins.get(name) ?? { ...read, group: emptyGroup() }
    bins.set(name, found)
    found.group.n += group.n
    found.group.bad += group.bad
    found.group.pdSum += group.pdSum
    found.group.pdVariance += group.pdVariance
  }
  const placeOf = ({ bin, outcome }: { bin: number | null; outcome: string | null }) =>
    bin === null || outcome !== 'matched' ? Number.MAX_SAFE_INTEGER : bin
  return [...bins.values()].sort(
    (a, b) => placeOf(a) - placeOf(b) || (String(a.outcome) < String(b.outcome) ? -1 : 1),
  )
}
