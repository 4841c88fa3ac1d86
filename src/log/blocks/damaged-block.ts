import { AppError } from '../../errors.ts'
import type { LostReason } from '../archive/archive-bytes.ts'
import { type BlockSources, readSources } from '../proof/block-sources.ts'
import type { OpenBlock } from './block-decoder.ts'
import { openBlock } from './block-decoder.ts'
import { checkedBytes } from './bytes.ts'
import type { BlockTable } from './index-sums.ts'
import type { StoredBlock } from './stored-block.ts'

/**
 * Parts of a block, each with a checksum of its own. `index` are the columns by which statements
 * choose a block, `filter` is the one with its references, `counts` is what reports sum up.
 */
export const BLOCK_PARTS = ['data', 'sums', 'sources', 'index', 'filter', 'counts'] as const
export type BlockPart = (typeof BLOCK_PARTS)[number]

/** A part of a block that can't be read, and where the block is. */
export interface Damage {
  readonly blockId: string
  readonly firstAtMs: number
  readonly part: BlockPart
  readonly reason: LostReason
  /** The table with its index, its filter and its counts; absent for other parts. */
  readonly table?: BlockTable
  /** The file of the archive that should hold it; absent for a block in the database. */
  readonly archivedIn?: string
}

/** Calls that need the block are refused until it is restored; all others go on. */
export class DamagedBlock extends AppError {
  readonly damage: Damage

  constructor(damage: Damage, cause?: unknown) {
    super('unavailable', formatText(damage), { cause, isLasting: true })
    this.damage = damage
  }
}

/**
 * Opens a block.
 *
 * @throws DamagedBlock
 */
export function openStoredBlock(stored: StoredBlock): OpenBlock {
  if (stored.damagedIndexIn !== undefined) {
    throw damagedColumns(stored, 'index', stored.damagedIndexIn)
  }
  try {
    return openBlock(stored)
  } catch (cause) {
    throw damagedPart(stored, 'data', cause)
  }
}

/**
 * Reads from which drained blocks the records of a block are.
 *
 * @throws DamagedBlock
 */
export function openSources(stored: StoredBlock, block: OpenBlock): BlockSources {
  try {
    const sources = readSources(stored.sources, (record) => block.teamId(record))
    if ((sources.records ?? block.count) === block.count) return sources
    throw new RangeError('the sources are of another number of records')
  } catch (cause) {
    throw damagedPart(stored, 'sources', cause)
  }
}

/** Tells whether the sources have the checksum with which they were written. */
export function areSourcesWhole({ sources }: Pick<StoredBlock, 'sources'>): boolean {
  try {
    checkedBytes(sources)
    return true
  } catch {
    return false
  }
}

/** The error of a part of a block that was read and is damaged. */
export function damagedPart(
  { blockId, firstAtMs, archivedIn }: Pick<StoredBlock, 'blockId' | 'firstAtMs' | 'archivedIn'>,
  part: BlockPart,
  cause: unknown,
): DamagedBlock {
  const place = { blockId, firstAtMs, ...(archivedIn !== undefined && { archivedIn }) }
  return new DamagedBlock({ ...place, part, reason: 'damaged' }, cause)
}

/** The error of a row whose columns are not those that were written. */
export function damagedColumns(
  { blockId, firstAtMs }: Pick<StoredBlock, 'blockId' | 'firstAtMs'>,
  part: 'index' | 'filter' | 'counts',
  table: BlockTable,
): DamagedBlock {
  return new DamagedBlock({ blockId, firstAtMs, part, reason: 'damaged', table })
}

const NOUNS = {
  sums: 'sums',
  sources: 'sources',
  index: 'index columns',
  filter: 'references',
  counts: 'counts',
}

function formatText({ blockId, firstAtMs, part, reason, table, archivedIn }: Damage): string {
  const block = `block ${blockId} of ${new Date(firstAtMs).toISOString().slice(0, 10)}`
  if (archivedIn !== undefined) {
    return `a file of the archive of the score log is ${reason}: it holds ${block}`
  }
  const place = table ?? (part === 'sums' ? 'score_sums' : 'score_blocks')
  if (part === 'data') return `${block} in ${place} is damaged`
  return `the ${NOUNS[part]} of ${block} in ${place} are damaged`
}
