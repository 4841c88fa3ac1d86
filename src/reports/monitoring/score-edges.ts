import type { PartReader, ScannedColumns } from '../../log/index.ts'
import { ValueDistribution } from '../stats/value-distribution.ts'
import type { ScoreBand } from './baseline.ts'
import { lazily } from './model-tally.ts'

/** Ends of ten bands of about as many applicants each. */
const SHARES = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9] as const

/** Finds the ends of score bands with about as many applicants each. */
export class ScoreEdges {
  private readonly scores = new ValueDistribution()
  private readonly modelId: string

  constructor(modelId: string) {
    this.modelId = modelId
  }

  readonly makeReader = (columns: ScannedColumns): PartReader | null => {
    const model = columns.models.find(({ modelId }) => modelId === this.modelId)
    if (model === undefined) return null
    const { scored } = model
    return {
      takes: (row) => scored[row] === 1,
      add: lazily(() => {
        const { scores } = model
        return (rows) => {
          for (const row of rows) this.scores.add(scores[row] ?? 0)
        }
      }),
    }
  }

  /** Bands over all scores, see `bandsOver`. */
  bands(): ScoreBand[] {
    return bandsOver(this.scores)
  }
}

/** Bands over all scores, empty as yet; fewer than ten where many applicants share a score. */
export function bandsOver(scores: ValueDistribution): ScoreBand[] {
  const ends = scores.percentiles(SHARES).filter((end) => end !== null && end > scores.min)
  const edges = [null, ...new Set(ends), null]
  return edges.slice(1).map((max, place) => ({ min: edges[place] ?? null, max, n: 0 }))
}
