import { BLOCK_PARTS, type BlockPart, type Damage, DamagedBlock } from './damaged-block.ts'

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
