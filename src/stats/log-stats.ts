import type { Environment } from '../access/caller.ts'
import { mergedRollup, type Rollup } from '../rollups/rollup.ts'
import type { SpanRange, TimeRange } from '../rollups/spans.ts'
import type { BlockStats } from './block-stats.ts'
import type { RecentScore, SpanRollup, StatsStore } from './service.ts'

/** Statistics of the rollups, and of the rows of the first form. */
export interface StoredStats extends Pick<StatsStore, 'environmentOf' | 'rollups'> {
  rollupOfRows(deploymentId: string, ranges: readonly TimeRange[]): Promise<Rollup | null>
  recentOfRows(
    deploymentId: string,
    ranges: readonly TimeRange[],
    limit: number,
  ): Promise<RecentScore[]>
}

/**
 * Statistics of both forms of the log. Blocks can be in an archive, which is not the database: each
 * part bounds its own calls.
 */
export class LogStats implements StatsStore {
  private readonly store: StoredStats
  private readonly blocks: BlockStats

  constructor(store: StoredStats, blocks: BlockStats) {
    this.store = store
    this.blocks = blocks
  }

  environmentOf(teamId: string, deploymentId: string): Promise<Environment | null> {
    return this.store.environmentOf(teamId, deploymentId)
  }

  rollups(deploymentId: string, spans: readonly SpanRange[]): Promise<SpanRollup[]> {
    return this.store.rollups(deploymentId, spans)
  }

  async rollupOfLog(deploymentId: string, ranges: readonly TimeRange[]): Promise<Rollup | null> {
    const ofRows = await this.store.rollupOfRows(deploymentId, ranges)
    const ofBlocks = await this.blocks.rollup(deploymentId, ranges)
    return mergedRollup([ofRows, ofBlocks].flatMap((rollup) => rollup ?? []))
  }

  async recent(
    deploymentId: string,
    ranges: readonly TimeRange[],
    limit: number,
  ): Promise<RecentScore[]> {
    const ofRows = await this.store.recentOfRows(deploymentId, ranges, limit)
    const ofBlocks = await this.blocks.recent(deploymentId, ranges, limit)
    // Stable: the results of one request stay in their order.
    return [...ofRows, ...ofBlocks].sort(newestScoreFirst).slice(0, limit)
  }
}

const newestScoreFirst = (one: RecentScore, other: RecentScore) =>
  other.scoredAtMs - one.scoredAtMs || compareTexts(other.requestId, one.requestId)

function compareTexts(one: string, other: string): number {
  return one === other ? 0 : one < other ? -1 : 1
}
