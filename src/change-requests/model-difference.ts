import { binTextOf, type ScorecardSpec } from '../engine/index.ts'

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
 * @returns changed bins in the order of the later model's features, then those that only the
 *   earlier one has
 */
export function changedBins(
  before: ScorecardSpec,
  after: ScorecardSpec,
): { readonly bins: readonly ChangedBin[]; readonly isTruncated: boolean } {
  const was = pointsOf(before)
  const willBe = pointsOf(after)
  const bins: ChangedBin[] = []
  for (const feature of new Set([...willBe.keys(), ...was.keys()])) {
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
function pointsOf(spec: ScorecardSpec): Map<string, Map<string, number>> {
  return new Map(
    spec.features.map(({ name, bins }, feature) => [
      name,
      new Map(bins.map(({ points }, bin) => [binTextOf(spec, feature, bin), points])),
    ]),
  )
}
