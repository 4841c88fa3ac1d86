import { AppError } from '../../errors.ts'
import type { LostReason } from '../archive/archive-bytes.ts'
import { type BlockSources, readSources } from '../proof/block-sources.ts'
import { type OpenBlock, openBlock } from './block-decoder.ts'
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

/** A database with more of them has lost more than blocks; the counter goes on. */
const KNOWN_MAX = 10_000

/**
 * Damaged blocks of the database that this process has met. A block is *known* from the first
 * reading that fails until upkeep finds it sound, or gone. Files of the archive are checked by the
 * archive itself.
 */
export class DamagedBlocks {
  private readonly known = new Map<string, Damage>()
  private readonly onFirst: (error: DamagedBlock) => void
  /** Readings that failed since the start. */
  reads = 0

  /** @param onFirst receives each block when it becomes known */
  constructor(onFirst: (error: DamagedBlock) => void = () => undefined) {
    this.onFirst = onFirst
  }

  /** Counts a reading that failed with this error; others are ignored. */
  note(error: unknown): void {
    if (!(error instanceof DamagedBlock) || error.damage.archivedIn !== undefined) return
    // A block whose filter is damaged is read instead.
    if (error.damage.part !== 'filter') this.reads++
    const name = formatName(error.damage)
    if (this.known.has(name)) return
    if (this.known.size < KNOWN_MAX) this.known.set(name, error.damage)
    this.onFirst(error)
  }

  /** Takes back what was noted of a block that is sound, or gone. */
  forget(damage: Damage): void {
    this.known.delete(formatName(damage))
  }

  list(part?: BlockPart): readonly Damage[] {
    const all = [...this.known.values()]
    return part === undefined ? all : all.filter((damage) => damage.part === part)
  }

  /** Number of blocks by their damaged part. */
  counts(): Readonly<Record<BlockPart, number>> {
    const counts = Object.fromEntries(BLOCK_PARTS.map((part) => [part, this.list(part).length]))
    return counts as Record<BlockPart, number>
  }
}

function formatName({ part, firstAtMs, blockId }: Damage): string {
  return `${part} ${firstAtMs} ${blockId}`
}
