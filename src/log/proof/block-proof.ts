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
import {
  HASH_BYTES,
  inclusionRanges,
  type LeafRange,
  nodeHash,
  rootOf,
  splitOf,
} from '../score-log/proof/merkle.ts'
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
}

/** Hashed without a look at the clock: a millisecond. */
const LEAVES_AT_ONCE = 512

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
    const path = await hashesInTurns(hashes, inclusionRanges(index, [0, hashes.length]))
    return {
      leaf: leafTextOf(block.payload(found, known), record),
      sequence: source.sequence,
      index,
      size: hashes.length,
      path,
    }
  }
  return null
}

/** The roots of these parts; after an outage a block has hundreds of thousands of leaves. */
async function hashesInTurns(
  leaves: readonly Buffer[],
  ranges: readonly LeafRange[],
): Promise<Buffer[]> {
  const turns = new TurnTaker()
  const hashes: Buffer[] = []
  for (const range of ranges) hashes.push(await hashOf(range))
  return hashes

  async function hashOf([start, end]: LeafRange): Promise<Buffer> {
    await turns.giveWay()
    if (end - start <= LEAVES_AT_ONCE) return rootOf(leaves, [start, end])
    const middle = start + splitOf(end - start)
    return nodeHash(await hashOf([start, middle]), await hashOf([middle, end]))
  }
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
