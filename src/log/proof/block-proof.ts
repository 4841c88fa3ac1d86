import { TurnTaker } from '../../platform/turn-taker.ts'
import { type LostBlock, lostBlockError } from '../archive/archived-blocks.ts'
import type { OpenBlock } from '../blocks/block-decoder.ts'
import type { BlockReader } from '../blocks/block-store.ts'
import { DamagedBlock, damagedPart } from '../blocks/damaged-block.ts'
import type { ModelSource, ModelsById } from '../record/model-source.ts'
import {
  formatLeafText,
  hashLeaves,
  inTreeOrder,
  type RequestLeaves,
  readLeaves,
} from './leaves.ts'
import {
  computeRoot,
  emptyRoot,
  HASH_BYTES,
  inclusionRanges,
  type LeafRange,
  nodeHash,
  readSplit,
} from './merkle.ts'

/** Proves that the records of a drained block hold one applicant. */
export interface BlockProof {
  readonly leaf: string
  /** Which leaf of the team's tree the block is. */
  readonly sequence: number
  readonly index: number
  readonly size: number
  readonly path: readonly Buffer[]
  /** Root of the records of the drained block, which is a leaf of the tree. */
  readonly root: Buffer
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
 * @returns null if no block holds the request
 * @throws DamagedBlock if the request can be in a block that can't be read, or is in one without a
 *   place in the tree
 */
export async function proveInBlock(
  { blocks, models }: BlockProofOptions,
  { requestId, record, idMs }: { requestId: string; record: number; idMs: number },
): Promise<BlockProof | null> {
  let damage: DamagedBlock | null = null
  const onLost = (lost: LostBlock) => {
    damage ??= lostBlockError(lost)
  }
  for await (const stored of blocks.blocksAt(idMs, onLost)) {
    const block = blocks.tryOpen(stored)
    if (block instanceof DamagedBlock) {
      damage ??= block
      continue
    }
    const found = block.find(requestId)
    if (found < 0) continue
    const { sources, readSource } = blocks.sources(stored, block)
    const own = readSource(found)
    const source = sources[own]
    if (source === undefined) {
      throw damagedPart(stored, 'sources', new RangeError('they lack a record of the block'))
    }
    const indexes = Array.from({ length: block.count }, (_, index) => index)
    const ofSource = indexes.filter((index) => readSource(index) === own)
    const known = await models.compiled(block.modelIds)
    const requests = inTreeOrder(await leavesIn(block, ofSource, known))
    const before = requests.findIndex((request) => request.requestId === requestId)
    const index = requests
      .slice(0, before)
      .reduce((sum, { hashes }) => sum + hashes.length / HASH_BYTES, record)
    const hashes = hashLeaves(requests)
    const whole: LeafRange = [0, hashes.length]
    const path = await hashesInTurns(hashes, inclusionRanges(index, whole))
    const [root = emptyRoot()] = await hashesInTurns(hashes, [whole])
    return {
      leaf: formatLeafText(block.payload(found, known), record),
      sequence: source.sequence,
      index,
      size: hashes.length,
      path,
      root,
    }
  }
  if (damage !== null) throw damage
  return null
}

/** The roots of these parts; after an outage a block has hundreds of thousands of leaves. */
async function hashesInTurns(
  leaves: readonly Buffer[],
  ranges: readonly LeafRange[],
): Promise<Buffer[]> {
  const turns = new TurnTaker()
  const hashes: Buffer[] = []
  for (const range of ranges) hashes.push(await computeHash(range))
  return hashes

  async function computeHash([start, end]: LeafRange): Promise<Buffer> {
    await turns.giveWay()
    if (end - start <= LEAVES_AT_ONCE) return computeRoot(leaves, [start, end])
    const middle = start + readSplit(end - start)
    return nodeHash(await computeHash([start, middle]), await computeHash([middle, end]))
  }
}

export async function leavesIn(
  block: OpenBlock,
  indexes: readonly number[],
  models: ModelsById,
): Promise<RequestLeaves[]> {
  const turns = new TurnTaker()
  const requests: RequestLeaves[] = []
  for (const index of indexes) {
    requests.push(readLeaves(block.payload(index, models)))
    await turns.giveWay()
  }
  return requests
}
