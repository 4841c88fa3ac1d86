import pLimit from 'p-limit'
import { AppError, serviceBusy } from '../../errors.ts'
import type { Caller } from '../../http/access/caller.ts'
import { timeOfId } from '../../platform/ids.ts'
import type { BlockReader } from '../blocks/block-store.ts'
import type { ScoreReadingService } from '../reading/service.ts'
import type { ModelSource } from '../record/model-source.ts'
import { type BlockProof, proveInBlock } from './block-proof.ts'
import {
  type CheckpointSigner,
  formatFactsOrigin,
  formatOrigin,
  type TreeState,
} from './checkpoint.ts'
import { DamagedTree, LogTree } from './log-tree.ts'
import type { TreeHead, Trees } from './tree-store.ts'

interface ProofOptions {
  readonly reading: ScoreReadingService
  readonly blocks: BlockReader
  readonly models: ModelSource
  readonly trees: Trees
  readonly signer: CheckpointSigner
  /** Teams whose tree was found damaged, by whomever, and not sound by a later look. */
  readonly damagedTrees: Set<string>
  /** Receives the error of each tree when it is found damaged. */
  readonly onDamaged: (error: DamagedTree) => void
}

/** Proves that the log holds a score, and that it only grows. */
interface ScoreProof {
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
interface SignedState extends TreeState {
  /** Signed note. */
  readonly note: string
  /** Signed note of the chain over the facts of the blocks; null before the first block. */
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

  get damagedTrees(): Set<string> {
    return this.options.damagedTrees
  }

  /**
   * Proves one record of a request.
   *
   * @throws AppError `score_not_found`; `unavailable` for a score that is not in the database yet,
   *   and when too many proofs wait; `invalid_request` for a batch without `record`
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
    const block = await this.inTurn(of)
    if (block === null) {
      throw new AppError(
        'unavailable',
        'the score is not in the database yet: try again in a moment',
      )
    }
    return this.fromTree(caller, async ({ edge }, tree) => {
      if (tree === null) throw new DamagedTree(caller.teamId)
      const state = { origin: formatOrigin(caller.teamId), size: edge.size, root: edge.root }
      const treePath = await tree.inclusion(block.sequence, block.root)
      return { block, treeSize: edge.size, treePath, checkpoint: this.sign(state) }
    })
  }

  /** The present state of the team's tree, signed. */
  checkpoint({ teamId }: TeamCaller): Promise<SignedState> {
    return this.fromTree({ teamId }, async ({ edge, facts }) => {
      const state = { origin: formatOrigin(teamId), size: edge.size, root: edge.root }
      const ofFacts = facts && { ...state, origin: formatFactsOrigin(teamId), root: facts }
      return { ...state, note: this.sign(state), factsNote: ofFacts && this.sign(ofFacts) }
    })
  }

  /**
   * Proves that the tree with `to` leaves began as the one with `from` leaves.
   *
   * @throws AppError `invalid_request` for sizes that the tree has not had
   */
  consistency({ teamId }: TeamCaller, from: number, to: number): Promise<readonly Buffer[]> {
    return this.fromTree({ teamId }, async ({ edge }, tree) => {
      if (from > to || to > edge.size) {
        const text = `from must not be above to, and to not above ${edge.size}, the size of the tree`
        throw new AppError('invalid_request', text)
      }
      return tree === null || from === 0 ? [] : tree.consistency(from, to)
    })
  }

  /** Looks again at trees that were damaged: some may have been restored. */
  async recheck(): Promise<void> {
    for (const teamId of this.damagedTrees) {
      await this.fromTree({ teamId }, async () => undefined).catch((error: unknown) => {
        if (!(error instanceof DamagedTree)) throw error
      })
    }
  }

  /** The key that verifies the team's checkpoints, as signed notes write it. */
  verifierKey({ teamId }: TeamCaller): string {
    return this.options.signer.verifierKey(formatOrigin(teamId))
  }

  /**
   * Reads from the tree of a team, which is null before its first leaf, and notes whether it is
   * damaged.
   *
   * @throws DamagedTree before anything is signed
   */
  private async fromTree<T>(
    { teamId }: TeamCaller,
    read: (head: TreeHead, tree: LogTree | null) => Promise<T>,
  ): Promise<T> {
    const { trees, onDamaged } = this.options
    const head = await trees.head(teamId)
    const { treeId, edge, isSound } = head
    const tree = treeId === null ? null : new LogTree(trees, teamId, { treeId, edge })
    try {
      if (!isSound) throw new DamagedTree(teamId)
      await tree?.check()
      const found = await read(head, tree)
      if (this.damagedTrees.has(teamId) && (await this.canGrow(treeId))) {
        this.damagedTrees.delete(teamId)
      }
      return found
    } catch (error) {
      if (error instanceof DamagedTree && !this.damagedTrees.has(teamId)) {
        this.damagedTrees.add(teamId)
        onDamaged(error)
      }
      throw error
    }
  }

  /** An old row of `log_trees` is whole in itself, and has nodes where its tree would grow. */
  private async canGrow(treeId: number | null): Promise<boolean> {
    return treeId === null || (await this.options.trees.strays(treeId, 1)).length === 0
  }

  /** @throws AppError `unavailable` when too many proofs wait */
  private async inTurn(of: Parameters<typeof proveInBlock>[1]): ReturnType<typeof proveInBlock> {
    if (this.turns.pendingCount >= PROOFS_WAITING_MAX) {
      throw serviceBusy()
    }
    return this.turns(() => proveInBlock(this.options, of))
  }

  private sign(state: TreeState): string {
    return this.options.signer.checkpoint(state)
  }
}
