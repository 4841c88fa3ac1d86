import {
  type Applicant,
  CELL_MISSING,
  CELL_UNSEEN_CATEGORY,
  type CompiledModel,
  type FeatureSpec,
  type ModelScore,
  parseInterval,
  type ScorecardSpec,
} from '../../engine/index.ts'

/** Parts of a feature that no applicant of a sample reached, so that nothing is proved there. */
interface UnreachedFeature {
  readonly feature: string
  readonly bins: readonly string[]
  readonly moreBins: number
  /** Bounds that no value equals: only such a value shows which bin a bound belongs to. */
  readonly edges: readonly number[]
  readonly moreEdges: number
  readonly outcomes: readonly ('missing' | 'unseen_category')[]
}

/** The share of a card the applicants of a sample reached. */
export interface Coverage {
  /** Bins of the whole card. */
  readonly bins: number
  readonly binsUnreached: number
  readonly unreached: readonly UnreachedFeature[]
}

/** Bins and edges that are listed in all, so that a certificate stays small. */
const LISTED_MAX = 1_000
const LISTED_OF_FEATURE_MAX = 20

/** Counts what the applicants of a sample reach. */
export class CoverageTally {
  /** Applicants of each slot. */
  readonly rows: Float64Array
  private readonly spec: ScorecardSpec
  private readonly model: CompiledModel
  /** Bounds of each numeric feature that no value equalled so far. */
  private readonly edges: readonly (Set<number> | null)[]

  constructor(spec: ScorecardSpec, model: CompiledModel) {
    this.spec = spec
    this.model = model
    this.rows = new Float64Array(model.points.length)
    this.edges = spec.features.map(findEdges)
  }

  add({ slots }: ModelScore, applicant: Applicant): void {
    const { rows, edges, model } = this
    for (const [feature, slot] of slots.entries()) {
      rows[slot] = (rows[slot] ?? 0) + 1
      const open = edges[feature]
      if (open == null || open.size === 0) continue
      const value = applicant[model.featureNames[feature] ?? '']
      if (typeof value === 'number') open.delete(value)
    }
  }

  toCoverage(): Coverage {
    let room = LISTED_MAX
    let bins = 0
    let binsUnreached = 0
    const unreached: UnreachedFeature[] = []
    for (const [index, feature] of this.spec.features.entries()) {
      const open = this.unreachedBins(index, feature)
      const edges = [...(this.edges[index] ?? [])]
      const outcomes = this.unreachedOutcomes(index, feature)
      bins += feature.bins.length
      binsUnreached += open.length
      if (open.length + edges.length + outcomes.length === 0) continue
      const listedBins = open.slice(0, Math.min(LISTED_OF_FEATURE_MAX, room))
      room -= listedBins.length
      const listedEdges = edges.slice(0, Math.min(LISTED_OF_FEATURE_MAX, room))
      room -= listedEdges.length
      unreached.push({
        feature: feature.name,
        bins: listedBins,
        moreBins: open.length - listedBins.length,
        edges: listedEdges,
        moreEdges: edges.length - listedEdges.length,
        outcomes,
      })
    }
    return { bins, binsUnreached, unreached }
  }

  /** Labels of the bins whose own values no applicant has. */
  private unreachedBins(feature: number, { bins }: FeatureSpec): string[] {
    const { slotStart, binOfSlot } = this.model
    const reached = new Set<number>()
    const start = slotStart[feature] ?? 0
    for (let slot = start + CELL_MISSING; slot < (slotStart[feature + 1] ?? 0); slot++) {
      if ((this.rows[slot] ?? 0) > 0) reached.add(binOfSlot[slot] ?? -1)
    }
    return bins.flatMap((bin, index) => (reached.has(index) ? [] : [binLabel(bin) ?? '']))
  }

  private unreachedOutcomes(feature: number, { type }: FeatureSpec): UnreachedFeature['outcomes'] {
    const start = this.model.slotStart[feature] ?? 0
    const isMet = (offset: number) => (this.rows[start + offset] ?? 0) > 0
    return [
      ...(isMet(CELL_MISSING) ? [] : (['missing'] as const)),
      ...(type === 'numeric' || isMet(CELL_UNSEEN_CATEGORY) ? [] : (['unseen_category'] as const)),
    ]
  }
}

/** Finite bounds, as the ranges write them; null for a feature without ranges. */
function findEdges(feature: FeatureSpec): Set<number> | null {
  if (feature.type !== 'numeric') return null
  const bounds = feature.bins.flatMap(({ range }) => {
    if (typeof parseInterval(range) === 'string') return []
    return range
      .replace(/[[\]()\s]/g, '')
      .split(',')
      .map(Number)
  })
  return new Set(bounds.filter(Number.isFinite))
}

/** The label that an import stored, otherwise the range or value; null without a bin. */
export function binLabel(bin: object | undefined): string | null {
  if (bin === undefined) return null
  const { label, range, value }: { label?: unknown; range?: string; value?: string } = bin
  return typeof label === 'string' ? label : (range ?? value ?? null)
}
