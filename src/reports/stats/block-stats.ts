import {
  addRequest,
  type BlockReader,
  latencyShareMs,
  type ModelSource,
  type ModelsById,
  makeRollup,
  type OpenBlock,
  type Rollup,
  type TimeRange,
} from '../../log/index.ts'
import { TurnTaker } from '../../platform/turn-taker.ts'

export interface RecentScore {
  readonly requestId: string
  /** The record's own id in a batch; null without one, and outside of a batch. */
  readonly recordId: string | number | null
  readonly score: number
  readonly grade: string | null
  /** Null if the model has no scale. */
  readonly pd: number | null
  /** In a batch, the record's share of the latency. */
  readonly latencyMs: number
  readonly scoredAtMs: number
}

interface BlockRequest {
  readonly block: OpenBlock
  readonly index: number
  readonly models: ModelsById
}

/** Statistics from the blocks of the log. */
export class BlockStats {
  private readonly blocks: BlockReader
  private readonly models: ModelSource

  constructor(blocks: BlockReader, models: ModelSource) {
    this.blocks = blocks
    this.models = models
  }

  /** Sums up the requests of these ranges; null if they hold no results. */
  async rollup(deploymentId: string, ranges: readonly TimeRange[]): Promise<Rollup | null> {
    let rollup: Rollup | null = null
    const turns = new TurnTaker()
    for (const range of ranges) {
      for await (const stored of this.blocks.blocksIn({
        deploymentId,
        ...range,
        order: 'oldest',
      })) {
        const block = this.blocks.open(stored)
        const models = await this.models.compiled(block.modelIds)
        for (const index of listRequests(block, deploymentId, range)) {
          const { scores, pds } = readServed({ block, index, models })
          const served = {
            scoredAtMs: block.scoredAtMs(index),
            latencyMs: block.latencyMs(index),
            scores: [...scores],
            pds: [...pds],
          }
          if (rollup === null) rollup = makeRollup(served)
          else addRequest(rollup, served)
          if (turns.isOver) await turns.giveWay()
        }
      }
    }
    return rollup
  }

  /** The newest results, newest first, the last of a batch first. */
  async recent(
    deploymentId: string,
    ranges: readonly TimeRange[],
    limit: number,
  ): Promise<RecentScore[]> {
    const newest = await this.findNewest(deploymentId, ranges, limit)
    return newest.flatMap(readRecentScores).slice(0, limit)
  }

  private async findNewest(
    deploymentId: string,
    ranges: readonly TimeRange[],
    applicantsMax: number,
  ): Promise<BlockRequest[]> {
    let newest: BlockRequest[] = []
    for (const range of ranges) {
      for await (const stored of this.blocks.blocksIn({
        deploymentId,
        ...range,
        order: 'newest',
      })) {
        // All requests of this block, and of those after it, are older.
        if (isEnough(newest, applicantsMax, stored.lastAtMs)) return newest
        const block = this.blocks.open(stored)
        const models = await this.models.compiled(block.modelIds)
        for (const index of listRequests(block, deploymentId, range)) {
          newest.push({ block, index, models })
        }
        newest = findFewest(newest.sort(newestFirst), applicantsMax)
      }
    }
    return newest
  }
}

/** Requests with at least one applicant. */
function listRequests(block: OpenBlock, deploymentId: string, range: TimeRange): number[] {
  return Array.from({ length: block.count }, (_, index) => index).filter((index) => {
    const scoredAtMs = block.scoredAtMs(index)
    return (
      block.applicants(index) > 0 &&
      scoredAtMs >= range.fromMs &&
      scoredAtMs < range.toMs &&
      block.deploymentId(index) === deploymentId
    )
  })
}

function isEnough(newest: readonly BlockRequest[], applicantsMax: number, lastAtMs: number) {
  const applicants = newest.reduce((sum, { block, index }) => sum + block.applicants(index), 0)
  const oldest = newest.at(-1)
  return (
    oldest !== undefined &&
    applicants >= applicantsMax &&
    oldest.block.scoredAtMs(oldest.index) > lastAtMs
  )
}

function findFewest(newest: readonly BlockRequest[], applicantsMax: number): BlockRequest[] {
  let applicants = 0
  return newest.filter(({ block, index }) => {
    const isWanted = applicants < applicantsMax
    applicants += block.applicants(index)
    return isWanted
  })
}

function newestFirst(one: BlockRequest, other: BlockRequest): number {
  const laterBy = other.block.scoredAtMs(other.index) - one.block.scoredAtMs(one.index)
  if (laterBy !== 0) return laterBy
  return one.block.requestId(one.index) < other.block.requestId(other.index) ? 1 : -1
}

/** The columns of the model that answered, for the applicants of a request. */
function readServed({ block, index, models }: BlockRequest) {
  const first = block.findFirstRow(index)
  const end = first + block.applicants(index)
  const results = block.results(block.findGroup(index), block.served(index), models)
  return {
    scores: results.scores.subarray(first, end),
    pds: results.pds.subarray(first, end),
    grades: results.grades.subarray(first, end),
  }
}

function readServedModel(block: OpenBlock, index: number): string {
  return block.groups[block.findGroup(index)]?.models[block.served(index)]?.modelId ?? ''
}

function readRecentScores(request: BlockRequest): RecentScore[] {
  const { block, index, models } = request
  const { scores, pds, grades } = readServed(request)
  const names = models.get(readServedModel(block, index))?.grades.names ?? []
  return Array.from(scores, (score, row) => {
    const pd = pds[row] ?? Number.NaN
    return {
      requestId: block.requestId(index),
      recordId: block.isBatch(index) ? block.recordId(index, row) : null,
      score,
      grade: names[grades[row] ?? -1] ?? null,
      pd: Number.isNaN(pd) ? null : pd,
      latencyMs: latencyShareMs(block.latencyMs(index), scores.length),
      scoredAtMs: block.scoredAtMs(index),
    }
  }).reverse()
}
