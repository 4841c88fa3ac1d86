import pLimit from 'p-limit'
import type { Caller } from '../access/caller.ts'
import { AppError } from '../errors.ts'
import { timeOfId } from '../platform/ids/ids.ts'
import type { ScoreReadingService } from '../reading/service.ts'
import type { BlockReader } from '../score-log/blocks/block-store.ts'
import {
  type CheckpointSigner,
  factsOriginOf,
  originOf,
  type TreeState,
} from '../score-log/proof/checkpoint.ts'
import { LogTree, type TreeStore } from '../score-log/proof/log-tree.ts'
import type { ModelSource } from '../score-log/record/model-source.ts'
import { type BlockProof, proveInBlock } from './block-proof.ts'

interface ProofOptions {
  readonly reading: ScoreReadingService
  readonly blocks: BlockReader
  readonly models: ModelSource
  readonly trees: TreeStore
  readonly signer: CheckpointSigner
}

/** Proves that the log holds a score, and that it only grows. */
export interface ScoreProof {
  readonly block: BlockProof
  readonly treeSize: number
  readonly treePath: readonly Buffer[]
  /** Signed note. */
  readonly checkpoint: string
}

/** Proofs that are made at a time, and that wait: each decodes a block and hashes all of it. */
const PROOFS_MAX = 2
const PROOFS_WAITING_MAX = 8

/** The present state of a tree. */
export interface SignedState extends TreeState {
  /** Signed note. */
  readonly note: string
  /** Signed note of the chain over the facts of the blocks; null until it has begun. */
  readonly factsNote: string | null
}

type TeamCaller = Pick<Caller, 'teamId'>

/** Proofs and checkpoints of the score log of a team. */
export class ProofService {
  private readonly options: ProofOptions
  private readonly turns = pLimit(PROOFS_MAX)

  constructor(options: ProofOptions) {
    this.options = options
  }

  /**
   * Proves one record of a request.
   *
   * @throws AppError `score_not_found`, also for a score from before the tree; `unavailable` for a
   *   score that is not in the database yet, and when too many proofs wait; `invalid_request` for a
   *   batch without `record`
   */
  async prove(caller: Caller, requestId: string, record: number | undefined): Promise<ScoreProof> {
    const { reading } = this.options
    const { request } = await reading.get(caller, requestId, { record: record ?? 0 })
    if (request.isBatch && record === undefined) {
      throw new AppError(
        'invalid_request',
        'the request is a batch: record says which of its records',
      )
    }
    const idMs = timeOfId(requestId) ?? 0
    const of = { requestId, record: record ?? 0, idMs }
    const block = request.engineVersion === null ? 'untraced' : await this.inTurn(of)
    if (block === null) {
      throw new AppError(
        'unavailable',
        'the score is not in the database yet: try again in a moment',
      )
    }
    if (block === 'untraced') {
      throw new AppError('score_not_found', 'the score is older than the proofs of the score log')
    }
    const { edge, treeId } = await this.options.trees.head(caller.teamId)
    if (treeId === null) throw new Error('the tree of a drained block is missing')
    const tree = new LogTree(this.options.trees, treeId)
    return {
      block,
      treeSize: edge.size,
      treePath: await tree.inclusion(block.sequence, edge.size),
      checkpoint: this.sign({ origin: originOf(caller.teamId), size: edge.size, root: edge.root }),
    }
  }

  /** The present state of the team's tree, signed. */
  async checkpoint({ teamId }: TeamCaller): Promise<SignedState> {
    const { edge, facts } = await this.options.trees.head(teamId)
    const state = { origin: originOf(teamId), size: edge.size, root: edge.root }
    const ofFacts = facts && { ...facts, origin: factsOriginOf(teamId), root: facts.hash }
    return { ...state, note: this.sign(state), factsNote: ofFacts && this.sign(ofFacts) }
  }

  /**
   * Proves that the tree with `to` leaves began as the one with `from` leaves.
   *
   * @throws AppError `invalid_request` for sizes that the tree has not had
   */
  async consistency({ teamId }: TeamCaller, from: number, to: number): Promise<readonly Buffer[]> {
    const { edge, treeId } = await this.options.trees.head(teamId)
    if (from > to || to > edge.size) {
      const text = `from must not be above to, and to not above ${edge.size}, the size of the tree`
      throw new AppError('invalid_request', text)
    }
    if (treeId === null || from === 0) return []
    return new LogTree(this.options.trees, treeId).consistency(from, to)
  }

  /** The key that verifies the team's checkpoints, as signed notes write it. */
  verifierKey({ teamId }: TeamCaller): string {
    return this.options.signer.verifierKey(originOf(teamId))
  }

  /** @throws AppError `unavailable` when too many proofs wait */
  private async inTurn(of: Parameters<typeof proveInBlock>[1]): ReturnType<typeof proveInBlock> {
    if (this.turns.pendingCount >= PROOFS_WAITING_MAX) {
      throw new AppError('unavailable', 'other proofs are under way: try again in a minute')
    }
    return this.turns(() => proveInBlock(this.options, of))
  }

  private sign(state: TreeState): string {
    return this.options.signer.checkpoint(state)
  }
}
