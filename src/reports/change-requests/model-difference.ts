import { formatBinText, type ScorecardSpec } from '../../engine/index.ts'
import { TurnTaker } from '../../platform/turn-taker.ts'

/** A bin whose points differ between two models; null where a model has no such bin. */
export interface ChangedBin {
  readonly feature: string
  /** Range or value, `Missing` for missing values. */
  readonly bin: string
  readonly before: number | null
  readonly after: number | null
}

/** Bins that an answer lists; a card may have a million. */
const BINS_MAX = 1_000

/**
 * Compares the points of two models. Bins are the same if their feature and their text are.
 *
 * It gives way to the event loop: a card of a million bins takes seconds.
 *
 * @returns changed bins in the order of the later model's features, then those that only the
 *   earlier one has
 */
export async function changedBins(
  before: ScorecardSpec,
  after: ScorecardSpec,
): Promise<{ readonly bins: readonly ChangedBin[]; readonly isTruncated: boolean }> {
  const turns = new TurnTaker()
  const was = await computePoints(before, turns)
  const willBe = await computePoints(after, turns)
  const bins: ChangedBin[] = []
  for (const feature of new Set([...willBe.keys(), ...was.keys()])) {
    await turns.giveWay()
    const [old, next] = [was.get(feature), willBe.get(feature)]
    for (const bin of new Set([...(next?.keys() ?? []), ...(old?.keys() ?? [])])) {
      const points = { before: old?.get(bin) ?? null, after: next?.get(bin) ?? null }
      if (points.before === points.after) continue
      if (bins.length === BINS_MAX) return { bins, isTruncated: true }
      bins.push({ feature, bin, ...points })
    }
  }
  return { bins, isTruncated: false }
}

/** Points by feature and by the text of the bin. */
async function computePoints(
  spec: ScorecardSpec,
  turns: TurnTaker,
): Promise<Map<string, Map<string, number>>> {
  const points = new Map<string, Map<string, number>>()
  for (const [feature, { name, bins }] of spec.features.entries()) {
    await turns.giveWay()
    points.set(
      name,
      new Map(bins.map((one, bin) => [formatBinText(spec, feature, bin), one.points])),
    )
  }
  return points
}
