import { type DamagedBlock, damagedColumns } from './damaged-block.ts'

/** A block of an hour, before its data are read. */
export interface ListedBlock {
  readonly block_id: string
  readonly first_at_ms: number
  readonly bytes: number
  readonly checksum: number
  readonly is_archived: boolean
  /** True if the filter by which it was chosen is the one that was written. */
  readonly is_filter_sound: boolean
}

/** Bytes of data in one statement; a single block can be larger. */
const PORTION_BYTES = 4 * 1024 * 1024
/** Blocks in the first statement of an hour, and at most: many readers want only a few. */
const PORTION_BLOCKS_MIN = 4
const PORTION_BLOCKS_MAX = 512

/** Splits blocks into those that one statement reads. */
export function* listPortions(listed: readonly ListedBlock[]): Generator<ListedBlock[]> {
  let portion: ListedBlock[] = []
  let bytes = 0
  let blocksMax = PORTION_BLOCKS_MIN
  for (const block of listed) {
    if (portion.length > 0 && bytes + block.bytes > PORTION_BYTES) {
      yield portion
      portion = []
      bytes = 0
    }
    portion.push(block)
    bytes += block.bytes
    if (portion.length >= blocksMax) {
      yield portion
      blocksMax = Math.min(PORTION_BLOCKS_MAX, 2 * blocksMax)
      portion = []
      bytes = 0
    }
  }
  if (portion.length > 0) yield portion
}

/** The error of a block whose filter is not the one that was written. */
export function filterFault({
  block_id: blockId,
  first_at_ms,
  is_archived,
}: ListedBlock): DamagedBlock {
  const table = is_archived ? 'score_archive_blocks' : 'score_blocks'
  return damagedColumns({ blockId, firstAtMs: first_at_ms }, 'filter', table)
}
