import { type SQL, sql } from 'drizzle-orm'
import { epochMs, momentText, queryRows, type Statements } from '../../platform/db/client.ts'
import { isDataCorrupt } from '../../platform/db/errors.ts'
import { type ArchiveBytes, StoredArchiveBytes } from '../archive/archive-bytes.ts'
import { ArchivedBlocks, type LostBlock } from '../archive/archived-blocks.ts'
import type { BlockSources } from '../proof/block-sources.ts'
import { SPAN_MS, spanStart, type TimeRange } from '../rollups/spans.ts'
import {
  LISTED_COLUMNS,
  listBlocks,
  makeCondition,
  makeRangeCondition,
  matchEither,
  splitIntoWindows,
  WINDOW_DAYS_MAX,
} from './block-conditions.ts'
import type { OpenBlock } from './block-decoder.ts'
import { BlockFinder } from './block-finder.ts'
import { type BlockQuery, leftTheLog, rewritten } from './block-reader.ts'
import {
  BLOCK_COLUMNS,
  BLOCK_COLUMNS_BARE,
  type BlockRow,
  filterFault,
  type ListedBlock,
  listPortions,
  readBlock,
  unreadableRow,
} from './block-rows.ts'
import { takeCounts } from './counted-blocks.ts'
import { DamagedBlock, DamagedBlocks, openSources, openStoredBlock } from './damaged-block.ts'
import { referencesIn } from './hashes.ts'
import { IS_FILTER_SOUND } from './index-sums.ts'
import type { StoredBlock } from './stored-block.ts'

/** Hours whose blocks are listed at once, where each has few. */
const HOURS_LISTED_MAX = 24
const BLOCKS_LISTED_FEW = 64

/**
 * Reads blocks from PostgreSQL, and those of closed days from the archive; `BlockQuery` says how
 * they come. One statement lists both, and a block that has left since then is read there.
 */
export class BlockReader {
  readonly db: Statements
  private readonly archived: ArchivedBlocks
  private readonly files: ArchiveBytes
  readonly damaged: DamagedBlocks
  private readonly finder: BlockFinder

  constructor(
    db: Statements,
    files: ArchiveBytes = new StoredArchiveBytes(null),
    damaged = new DamagedBlocks(),
  ) {
    this.db = db
    this.files = files
    this.damaged = damaged
    this.archived = new ArchivedBlocks(db, files)
    this.finder = new BlockFinder(db, (listed, onLost) =>
      this.read(listed, { ...(onLost && { onLost }) }),
    )
  }

  /** @throws DamagedBlock, which is counted */
  open(stored: StoredBlock): OpenBlock {
    const block = this.tryOpen(stored)
    if (block instanceof DamagedBlock) throw block
    return block
  }

  /** The same for who goes on without the block. */
  tryOpen(stored: StoredBlock): OpenBlock | DamagedBlock {
    try {
      return openStoredBlock(stored)
    } catch (error) {
      if (!(error instanceof DamagedBlock)) throw error
      this.noteDamage(stored, error)
      return error
    }
  }

  /** @throws DamagedBlock, which is counted */
  sources(stored: StoredBlock, block: OpenBlock): BlockSources {
    try {
      return openSources(stored, block)
    } catch (error) {
      this.noteDamage(stored, error)
      throw error
    }
  }

  /** Counts a damage, and lets the block be read anew: it may be restored by then. */
  private noteDamage(stored: StoredBlock, error: unknown): void {
    this.finder.forget(stored)
    const file = error instanceof DamagedBlock ? error.damage.archivedIn : undefined
    if (file !== undefined) this.files.noteLost(file, 'damaged')
    this.damaged.note(error)
  }

  /** Returns the team's references that a block can hold by its filter, which can be damaged. */
  async referencesIn(
    { blockId, firstAtMs }: Pick<StoredBlock, 'blockId' | 'firstAtMs'>,
    teamId: string,
    references: Iterable<string>,
  ): Promise<ReadonlySet<string>> {
    const isIt = sql`first_at = ${momentText(firstAtMs)} and block_id = ${blockId}::bigint`
    const [row] = await queryRows<{ filter: Uint8Array | null }>(
      this.db,
      sql`select reference_filter as filter from score_blocks where ${isIt} and ${IS_FILTER_SOUND}
        union all
        select reference_filter from score_archive_blocks where ${isIt} and ${IS_FILTER_SOUND}`,
    )
    // A damaged filter lets all through; a block that has gone held what another one holds now.
    if (row === undefined) return new Set(references)
    return referencesIn(row.filter, teamId, references)
  }

  /**
   * Blocks that can hold the request whose id has this time, likely ones first. A request can come
   * twice, in a small block and in the one that it was merged into.
   *
   * @param onLost see `BlockQuery`
   */
  async *blocksAt(idMs: number, onLost?: (lost: LostBlock) => void): AsyncIterable<StoredBlock> {
    yield* this.finder.blocksAt(idMs, onLost)
  }

  async *blocksIn(query: BlockQuery): AsyncIterable<StoredBlock> {
    const isShort = query.toMs - query.fromMs <= WINDOW_DAYS_MAX * SPAN_MS.day
    const range = isShort ? query : await this.findExtent(query)
    // The hours of the next list.
    const pace = { hours: 1 }
    for (const window of splitIntoWindows(range, query.order)) {
      yield* this.blocksWithin({ ...query, ...window }, pace)
    }
  }

  private async *blocksWithin(
    query: BlockQuery,
    pace: { hours: number },
  ): AsyncIterable<StoredBlock> {
    const bounds = await this.findBounds(query)
    if (bounds === null) return
    const { firstHourMs, lastHourMs } = bounds
    const isRising = query.order === 'oldest'
    let hourMs = isRising ? firstHourMs : lastHourMs
    while (hourMs >= firstHourMs && hourMs <= lastHourMs) {
      const furtherMs = (pace.hours - 1) * SPAN_MS.hour
      const [fromMs, lastMs] = isRising
        ? [hourMs, hourMs + furtherMs]
        : [hourMs - furtherMs, hourMs]
      const listed = await this.list(
        (isIndexSound) => sql`${makeCondition(query, isIndexSound)}
          and first_at >= ${momentText(fromMs)} and first_at < ${momentText(lastMs + SPAN_MS.hour)}`,
        query,
      )
      yield* this.read(await takeCounts(this, listed, query), query)
      const beyondMs = isRising ? lastMs + SPAN_MS.hour : fromMs - SPAN_MS.hour
      const nextMs =
        listed.length > 0 ? beyondMs : await this.nextHour(query, isRising ? lastMs : fromMs)
      if (nextMs === null) return
      hourMs = nextMs
      // Merged hours have few blocks: to list each of a month's hours costs more than to read them.
      const isFew = listed.length < BLOCKS_LISTED_FEW
      pace.hours = isFew ? Math.min(2 * pace.hours, HOURS_LISTED_MAX) : 1
    }
  }

  /** The part of a range that has partitions, blocks without one, or archived ones. */
  async findExtent({ fromMs, toMs }: TimeRange): Promise<TimeRange> {
    const [row] = await queryRows<{
      first_day: string | null
      last_day: string | null
      stray_first_ms: number | null
      stray_last_ms: number | null
      archived_first_ms: number | null
      archived_last_ms: number | null
    }>(
      this.db,
      sql`select min(right(c.relname, 8)) as first_day, max(right(c.relname, 8)) as last_day,
          (select ${epochMs(sql`min(first_at)`)} from score_blocks_default) as stray_first_ms,
          (select ${epochMs(sql`max(first_at)`)} from score_blocks_default) as stray_last_ms,
          (select ${epochMs(sql`min(first_at)`)} from score_archive_blocks) as archived_first_ms,
          (select ${epochMs(sql`max(first_at)`)} from score_archive_blocks) as archived_last_ms
        from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'score_blocks'::regclass and c.relname like 'score_blocks_p%'`,
    )
    const days = [row?.first_day, row?.last_day].flatMap((day) => readDayStarts(day ?? null))
    const strays = [row?.stray_first_ms, row?.stray_last_ms]
    const archived = [row?.archived_first_ms, row?.archived_last_ms]
    const starts = [...days, ...strays, ...archived].filter((ms) => ms != null)
    if (starts.length === 0) return { fromMs: 0, toMs: 0 }
    return {
      fromMs: Math.max(fromMs, Math.min(...starts)),
      toMs: Math.min(toMs, Math.max(...starts) + SPAN_MS.day),
    }
  }

  /** The hours of the first and the last block of a query. */
  private async findBounds(
    query: BlockQuery,
  ): Promise<{ readonly firstHourMs: number; readonly lastHourMs: number } | null> {
    const [row] = await queryRows<{ first_ms: number | null; last_ms: number | null }>(
      this.db,
      sql`select min(first_ms) as first_ms, max(last_ms) as last_ms from ${matchEither(
        sql`${epochMs(sql`min(first_at)`)} as first_ms, ${epochMs(sql`max(first_at)`)} as last_ms`,
        makeRangeCondition(query),
      )}`,
    )
    if (row === undefined || row.first_ms === null || row.last_ms === null) return null
    return {
      firstHourMs: spanStart('hour', row.first_ms),
      lastHourMs: spanStart('hour', row.last_ms),
    }
  }

  /** The hour of the next block after an hour without one. */
  private async nextHour(query: BlockQuery, hourMs: number): Promise<number | null> {
    const isRising = query.order === 'oldest'
    const beyond = isRising
      ? sql`first_at >= ${momentText(hourMs + SPAN_MS.hour)}`
      : sql`first_at < ${momentText(hourMs)}`
    const nearest = (moment: SQL) => (isRising ? sql`min(${moment})` : sql`max(${moment})`)
    const within = sql`${makeRangeCondition(query)} and ${beyond}`
    const [row] = await queryRows<{ next_ms: number | null }>(
      this.db,
      sql`select ${epochMs(nearest(sql`next_at`))} as next_ms
        from ${matchEither(sql`${nearest(sql`first_at`)} as next_at`, within)}`,
    )
    return row?.next_ms == null ? null : spanStart('hour', row.next_ms)
  }

  /** @param condition receives whether the index columns of a row are sound */
  private async list(
    condition: (isIndexSound: SQL) => SQL,
    query: Pick<BlockQuery, 'order' | 'withSuperseded' | 'reference'>,
  ): Promise<ListedBlock[]> {
    // The column of the inner query is a number; that of the answer is a text.
    const by =
      query.order === 'oldest'
        ? sql`listed.first_at, listed.block_id`
        : sql`listed.last_at desc, listed.block_id`
    const rows = listBlocks(condition, query)
    const listed = await queryRows<ListedBlock>(
      this.db,
      sql`select ${LISTED_COLUMNS} from ${rows} order by ${by}`,
    )
    for (const block of listed) if (!block.is_filter_sound) this.damaged.note(filterFault(block))
    return listed
  }

  async blockAt({ blockId, firstAtMs }: Pick<StoredBlock, 'blockId' | 'firstAtMs'>) {
    const isIt = sql`first_at = ${momentText(firstAtMs)} and block_id = ${blockId}::bigint`
    const listed = await this.list(() => isIt, { order: 'newest', withSuperseded: true })
    for await (const block of this.read(listed)) return block
    return null
  }

  private async *read(
    listed: readonly ListedBlock[],
    { isWhole, hasSources, onLost }: Pick<BlockQuery, 'isWhole' | 'hasSources' | 'onLost'> = {},
  ): AsyncIterable<StoredBlock> {
    const portions = [...listPortions(listed)]
    let ahead: Promise<BlockRow[]> | null = null
    for (const [index, portion] of portions.entries()) {
      const rows: BlockRow[] = await (ahead ?? this.stored(portion, hasSources))
      const next = portions[index + 1]
      // The database reads on while these blocks are looked at, but for readers who want a few.
      ahead = index === 0 || next === undefined ? null : this.stored(next, hasSources)
      ahead?.catch(() => undefined)
      const byId = new Map(rows.map((row) => [row.block_id, readBlock(row)]))
      const others = portion.filter(({ block_id }) => !byId.has(block_id))
      const lost = new Set<string>()
      const note = (block: LostBlock) => {
        lost.add(block.blockId)
        onLost?.(block)
      }
      const archived = others.length === 0 ? null : await this.archived.read(others, onLost && note)
      for (const { block_id, first_at_ms } of portion) {
        const block = byId.get(block_id) ?? archived?.get(block_id)
        // Else its day has left the log meanwhile, or a merge has replaced it long ago.
        if (block !== undefined) yield block
        else if (lost.has(block_id)) continue
        else if (await this.isKept(first_at_ms)) throw rewritten()
        else if (isWhole) throw leftTheLog()
      }
    }
  }

  /** Returns the blocks that the database has; one that it can't read comes without data. */
  private async stored(portion: readonly ListedBlock[], hasSources = true): Promise<BlockRow[]> {
    const listed = portion.filter(({ is_archived }) => !is_archived)
    if (listed.length === 0) return []
    try {
      return await this.rows(listed, hasSources)
    } catch (error) {
      if (!isDataCorrupt(error)) throw error
      const [only, ...others] = listed
      if (only !== undefined && others.length === 0) return [unreadableRow(only)]
      const rows: BlockRow[] = []
      for (const block of listed) rows.push(...(await this.stored([block], hasSources)))
      return rows
    }
  }

  private rows(listed: readonly ListedBlock[], hasSources: boolean): Promise<BlockRow[]> {
    const keys = sql.join(
      listed.map((block) => sql`(${momentText(block.first_at_ms)}, ${block.block_id}::bigint)`),
      sql`, `,
    )
    const times = listed.map((block) => block.first_at_ms)
    // The bounds say to the planner which partitions it need not look at.
    return queryRows<BlockRow>(
      this.db,
      sql`select ${hasSources ? BLOCK_COLUMNS : BLOCK_COLUMNS_BARE} from score_blocks
        where first_at >= ${momentText(Math.min(...times))}
          and first_at <= ${momentText(Math.max(...times))}
          and (first_at, block_id) in (select at::timestamptz, id
            from (values ${keys}) as wanted(at, id))`,
    )
  }

  /** Tells whether the log still has the day of a block. */
  private async isKept(firstAtMs: number): Promise<boolean> {
    const dayMs = spanStart('day', firstAtMs)
    const [row] = await queryRows<{ kept: boolean }>(
      this.db,
      sql`select to_regclass(${`score_blocks_p${nameDay(dayMs)}`}::text) is not null or exists (
          select 1 from score_blocks where first_at >= ${momentText(dayMs)}
            and first_at < ${momentText(dayMs + SPAN_MS.day)}) or exists (
          select 1 from score_archive_blocks where first_at >= ${momentText(dayMs)}
            and first_at < ${momentText(dayMs + SPAN_MS.day)}) as kept`,
    )
    return row?.kept ?? false
  }
}

/** The day of a moment, as partitions are named: `20261121`. */
function nameDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10).replaceAll('-', '')
}

/** @param name `20261121` */
function readDayStarts(name: string | null): number[] {
  const [, year, month, day] = /^(\d{4})(\d{2})(\d{2})$/.exec(name ?? '') ?? []
  return day === undefined ? [] : [Date.parse(`${year}-${month}-${day}T00:00:00Z`)]
}
