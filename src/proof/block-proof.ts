import type { OpenBlock } from '../score-log/blocks/block.ts'
import { openBlock } from '../score-log/blocks/block-decoder.ts'
import type { BlockReader } from '../score-log/blocks/block-store.ts'
import { readSources } from '../score-log/proof/block-sources.ts'
import {
  inTreeOrder,
  leafHashesOf,
  leafTextOf,
  leavesOf,
  type RequestLeaves,
} from '../score-log/proof/leaves.ts'
import { HASH_BYTES, hashesOf, inclusionRanges, rootOf } from '../score-log/proof/merkle.ts'
import { TurnTaker } from '../score-log/reading/turn-taker.ts'
import type { ModelSource, ModelsById } from '../score-log/record/model-source.ts'

/** Proves that the records of a drained block hold one applicant. */
export interface BlockProof {
  readonly leaf: string
  /** Which leaf of the team's tree the block is. */
  readonly sequence: number
  readonly index: number
  readonly size: number
  readonly path: readonly Buffer[]
  /** Root over the records as they are stored now. */
  readonly root: Buffer
}

interface BlockProofOptions {
  readonly blocks: BlockReader
  readonly models: ModelSource
}

/**
 * Finds a request in the blocks and proves one of its records.
 *
 * @param idMs the time in the id
 * @returns null if no block holds the request; `untraced` if it is from before the tree
 */
export async function proveInBlock(
  { blocks, models }: BlockProofOptions,
  { requestId, record, idMs }: { requestId: string; record: number; idMs: number },
): Promise<BlockProof | 'untraced' | null> {
  for await (const stored of blocks.blocksAt(idMs)) {
    const block = openBlock(stored)
    const found = block.find(requestId)
    if (found < 0) continue
    const { sources, sourceOf } = readSources(stored.sources, (index) => block.teamId(index))
    const own = sourceOf(found)
    const source = sources[own]
    if (source === undefined) return 'untraced'
    const indexes = Array.from({ length: block.count }, (_, index) => index)
    const ofSource = indexes.filter((index) => sourceOf(index) === own)
    const known = await models.compiled(block.modelIds)
    const requests = inTreeOrder(await leavesIn(block, ofSource, known))
    const before = requests.findIndex((request) => request.requestId === requestId)
    const index = requests
      .slice(0, before)
      .reduce((sum, { hashes }) => sum + hashes.length / HASH_BYTES, record)
    const hashes = leafHashesOf(requests)
    return {
      leaf: leafTextOf(block.payload(found, known), record),
      sequence: source.sequence,
      index,
      size: hashes.length,
      path: hashesOf(hashes, inclusionRanges(index, [0, hashes.length])),
      root: rootOf(hashes),
    }
  }
  return null
}

/** The leaves of these requests of a block. */
export async function leavesIn(
  block: OpenBlock,
  indexes: readonly number[],
  models: ModelsById,
): Promise<RequestLeaves[]> {
  const turns = new TurnTaker()
  const requests: RequestLeaves[] = []
  for (const index of indexes) {
    requests.push(leavesOf(block.payload(index, models)))
    await turns.giveWay()
  }
  return requests
}
