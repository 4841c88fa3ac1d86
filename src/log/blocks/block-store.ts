import { type SQL, sql } from 'drizzle-orm'
import { LRUCache } from 'lru-cache'
import { AppError } from '../../errors.ts'
import { rowsOf, type Statements } from '../../platform/db/client.ts'
import { epochMs, momentText } from '../../rollups/rollup-rows.ts'
import { SPAN_MS, spanStart, type TimeRange } from '../../rollups/spans.ts'
import { type ArchiveBytes, StoredArchiveBytes } from '../archive/archive-bytes.ts'
import { ArchivedBlocks, type LostBlock } from '../archive/archived-blocks.ts'
import { type ListedBlock, portionsOf } from './block-portions.ts'
import { BLOCK_COLUMNS, BLOCK_COLUMNS_BARE, type BlockRow, blockOf } from './block-rows.ts'
import { deploymentHash, referenceHashes } from './hashes.ts'
import type { StoredBlock } from './stored-block.ts'

/** Which blocks to read. */
export interface BlockQuery {
  /** Blocks that hold a request of this deployment, and by a rare accident of the hash others. */
  readonly deploymentId?: string
  /** Blocks that may hold this reference of the team: about one block in a hundred more. */
  readonly reference?: { readonly teamId: string; readonly reference: string }
  /** Blocks with a request in this range; a block also holds requests around it. */
  readonly fromMs: number
  readonly toMs: number
  /** By hours of UTC, and within an hour by `firstAtMs`, or by `lastAtMs` from the newest on. */
  readonly order: 'oldest' | 'newest'
  /** Also blocks whose requests a merged block holds, too. */
  readonly withSuperseded?: boolean
  /** Refuses to leave out a day that retention removed while it was read. */
  readonly isWhole?: boolean
  /** False leaves the sources out, which only proofs need: they are then null. */
  readonly hasSources?: boolean
  /**
   * Receives each block whose file in the archive is missing or too short; the reader goes on.
   * Absent: it fails with the AppError `unavailable`.
   */
  readonly onLost?: (lost: LostBlock) => void
}

/**
 * Reads blocks from the database, and those of closed days from the archive.
 *
 * A block holds requests of one hour of UTC. Blocks overlap: two replicas write at the same time.
 * Read newest first, no block of the same or an earlier hour holds a request after its `lastAtMs`.
 *
 * The iterators list the blocks of one hour at a time and then read a bounded number of bytes at a
 * time. Each request of a listed hour comes exactly once, also when blocks are merged meanwhile:
 * merged blocks stay readable for three hours. A reader that takes longer over an hour of the log
 * and meets a block that has gone fails with the AppError `unavailable`.
 */
export interface BlockReader {
  /**
   * Blocks that can hold the request whose id has this time, likely ones first. A request can come
   * twice, in a small block and in the one that it was merged into.
   *
   * @param onLost see `BlockQuery`
   */
  blocksAt(idMs: number, onLost?: (lost: LostBlock) => void): AsyncIterable<StoredBlock>
  blocksIn(query: BlockQuery): AsyncIterable<StoredBlock>
}

/** Days of a window of a long range, at most. */
const WINDOW_DAYS_MAX = 32
const CACHED_BYTES_MAX = 48 * 1024 * 1024
/** An upper bound of what an opened block takes for each byte of its columns. */
const OPENED_FACTOR = 6
/** A request id is made when the headers are there; the answer follows within this time. */
const ANSWER_MS_MAX = 30 * 60_000
/** How far clocks were set back between the id and the answer. */
const CLOCK_MS_MAX = 60_000
/** Nearly all requests are answered within this time. */
const NEAR_MS = 5_000

/** Hours whose blocks are listed at once, where each has few. */
const HOURS_LISTED_MAX = 24
const BLOCKS_LISTED_FEW = 64

/**
 * Blocks in PostgreSQL, and in the archive, whose index is in PostgreSQL. One statement lists both,
 * and a block that has left for the archive since then is read there.
 */
export class PostgresBlockReader implements BlockReader {
  private readonly db: Statements
  private readonly archived: ArchivedBlocks
  /** Blocks of single requests: who reads one often reads others of the same time. */
  private readonly cache = new LRUCache<string, StoredBlock>({ maxSize: CACHED_BYTES_MAX })

  constructor(db: Statements, files: ArchiveBytes = new StoredArchiveBytes(null)) {
    this.db = db
    this.archived = new ArchivedBlocks(db, files)
  }

  async *blocksAt(idMs: number, onLost?: (lost: LostBlock) => void): AsyncIterable<StoredBlock> {
    const near = sql`first_at >= ${momentText(idMs - NEAR_MS)}
      and first_at < ${momentText(idMs + NEAR_MS)}`
    // A block begins at most an hour before its last request.
    const fromMs = spanStart('hour', idMs - CLOCK_MS_MAX)
    const far = sql`first_at >= ${momentText(fromMs)}
      and first_at < ${momentText(idMs + ANSWER_MS_MAX)} and not (${near})`
    // Two statements, because nearly all requests are found near: the second would read an hour.
    // A merge between them moves a request to a block of another time; the far ones therefore
    // include those that a merge replaced, which stay readable for hours.
    for (const [range, withSuperseded] of [
      [near, false],
      [far, true],
    ] as const) {
      const listed = await this.list(
        sql`${range} and id_from <= ${momentText(Math.ceil(idMs))}
          and id_to >= ${momentText(Math.floor(idMs))}`,
        'newest',
        withSuperseded,
      )
      for (const block of listed) yield* this.readOnce(block, onLost)
    }
  }

  /** An erasure changes a block in its place, and its checksum with it. */
  private async *readOnce(
    listed: ListedBlock,
    onLost?: (lost: LostBlock) => void,
  ): AsyncIterable<StoredBlock> {
    const name = `${listed.first_at_ms} ${listed.block_id} ${listed.checksum}`
    const known = this.cache.get(name)
    if (known !== undefined) {
      yield known
      return
    }
    for await (const block of this.read([listed], { ...(onLost && { onLost }) })) {
      const size = block.data.length + OPENED_FACTOR * block.rawBytes
      // The row can have changed since it was listed.
      if (block.checksum === listed.checksum) this.cache.set(name, block, { size })
      yield block
    }
  }

  async *blocksIn(query: BlockQuery): AsyncIterable<StoredBlock> {
    const isShort = query.toMs - query.fromMs <= WINDOW_DAYS_MAX * SPAN_MS.day
    const range = isShort ? query : await this.extentOf(query)
    for (const window of windowsOf(range, query.order)) {
      yield* this.blocksWithin({ ...query, ...window })
    }
  }

  private async *blocksWithin(query: BlockQuery): AsyncIterable<StoredBlock> {
    const bounds = await this.boundsOf(query)
    if (bounds === null) return
    const { firstHourMs, lastHourMs } = bounds
    const isRising = query.order === 'oldest'
    let hourMs = isRising ? firstHourMs : lastHourMs
    let hours = 1
    while (hourMs >= firstHourMs && hourMs <= lastHourMs) {
      const furtherMs = (hours - 1) * SPAN_MS.hour
      const fromMs = isRising ? hourMs : hourMs - furtherMs
      const lastMs = isRising ? hourMs + furtherMs : hourMs
      const listed = await this.list(
        sql`${conditionOf(query)} and first_at >= ${momentText(fromMs)}
          and first_at < ${momentText(lastMs + SPAN_MS.hour)}`,
        query.order,
        query.withSuperseded,
      )
      yield* this.read(listed, query)
      const beyondMs = isRising ? lastMs + SPAN_MS.hour : fromMs - SPAN_MS.hour
      const nextMs =
        listed.length > 0 ? beyondMs : await this.nextHour(query, isRising ? lastMs : fromMs)
      if (nextMs === null) return
      hourMs = nextMs
      // Merged hours have few blocks: to list each of a month's hours costs more than to read them.
      hours = listed.length < BLOCKS_LISTED_FEW ? Math.min(2 * hours, HOURS_LISTED_MAX) : 1
    }
  }

  /** The part of a range that has partitions, blocks without one, or archived ones. */
  private async extentOf({ fromMs, toMs }: TimeRange): Promise<TimeRange> {
    const [row] = await rowsOf<{
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
    const days = [row?.first_day, row?.last_day].flatMap((day) => dayStartOf(day ?? null))
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
  private async boundsOf(
    query: BlockQuery,
  ): Promise<{ readonly firstHourMs: number; readonly lastHourMs: number } | null> {
    const [row] = await rowsOf<{ first_ms: number | null; last_ms: number | null }>(
      this.db,
      sql`select min(first_ms) as first_ms, max(last_ms) as last_ms from ${eitherOf(
        sql`${epochMs(sql`min(first_at)`)} as first_ms, ${epochMs(sql`max(first_at)`)} as last_ms`,
        rangeOf(query),
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
    const [row] = await rowsOf<{ next_ms: number | null }>(
      this.db,
      sql`select ${epochMs(nearest(sql`next_at`))} as next_ms from ${eitherOf(
        sql`${nearest(sql`first_at`)} as next_at`,
        sql`${rangeOf(query)} and ${beyond}`,
      )}`,
    )
    const nextMs = row?.next_ms ?? null
    return nextMs === null ? null : spanStart('hour', nextMs)
  }

  private list(
    condition: SQL,
    order: BlockQuery['order'],
    withSuperseded = false,
  ): Promise<ListedBlock[]> {
    const isWanted = withSuperseded ? sql`true` : sql`superseded_at is null`
    // The column of the inner query is a number; that of the answer is a text.
    const by =
      order === 'oldest'
        ? sql`listed.first_at, listed.block_id`
        : sql`listed.last_at desc, listed.block_id`
    return rowsOf<ListedBlock>(
      this.db,
      sql`select block_id::text as block_id, ${epochMs(sql`first_at`)} as first_at_ms, bytes,
          checksum::float8 as checksum, is_archived
        from (
          select block_id, first_at, last_at, octet_length(data) as bytes, checksum,
            false as is_archived
          from score_blocks where ${isWanted} and ${condition}
          union all
          select block_id, first_at, last_at, data_bytes + coalesce(sources_bytes, 0), checksum, true
          from score_archive_blocks where ${condition}
        ) as listed order by ${by}`,
    )
  }

  private async *read(
    listed: readonly ListedBlock[],
    { isWhole, hasSources, onLost }: Pick<BlockQuery, 'isWhole' | 'hasSources' | 'onLost'> = {},
  ): AsyncIterable<StoredBlock> {
    const portions = [...portionsOf(listed)]
    let ahead: Promise<BlockRow[]> | null = null
    for (const [index, portion] of portions.entries()) {
      const rows: BlockRow[] = await (ahead ?? this.stored(portion, hasSources))
      const next = portions[index + 1]
      // The database reads on while these blocks are looked at, but for readers who want a few.
      ahead = index === 0 || next === undefined ? null : this.stored(next, hasSources)
      ahead?.catch(() => undefined)
      const byId = new Map(rows.map((row) => [row.block_id, blockOf(row)]))
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

  /** Those of the blocks that the database has. */
  private stored(portion: readonly ListedBlock[], hasSources = true): Promise<BlockRow[]> {
    const listed = portion.filter(({ is_archived }) => !is_archived)
    if (listed.length === 0) return Promise.resolve([])
    const keys = sql.join(
      listed.map((block) => sql`(${momentText(block.first_at_ms)}, ${block.block_id}::bigint)`),
      sql`, `,
    )
    const times = listed.map((block) => block.first_at_ms)
    // The bounds say to the planner which partitions it need not look at.
    return rowsOf<BlockRow>(
      this.db,
      sql`select ${hasSources ? BLOCK_COLUMNS : BLOCK_COLUMNS_BARE} from score_blocks
        where first_at >= ${momentText(Math.min(...times))}
          and first_at <= ${momentText(Math.max(...times))}
          and (first_at, block_id) in (select at::timestamptz, id
            from (values ${keys}) as wanted(at, id))`,
    )
  }

  /** Whether the log still has the day of a block. */
  private async isKept(firstAtMs: number): Promise<boolean> {
    const dayMs = spanStart('day', firstAtMs)
    const [row] = await rowsOf<{ kept: boolean }>(
      this.db,
      sql`select to_regclass(${`score_blocks_p${dayNameOf(dayMs)}`}::text) is not null or exists (
          select 1 from score_blocks where first_at >= ${momentText(dayMs)}
            and first_at < ${momentText(dayMs + SPAN_MS.day)}) or exists (
          select 1 from score_archive_blocks where first_at >= ${momentText(dayMs)}
            and first_at < ${momentText(dayMs + SPAN_MS.day)}) as kept`,
    )
    return row?.kept ?? false
  }
}

function rewritten(): AppError {
  const message = 'the log was rewritten while it was read: read this period again'
  return new AppError('unavailable', message)
}

function leftTheLog(): AppError {
  const message =
    'a day of the period left the log while it was read, because its retention ended: ask again'
  return new AppError('unavailable', message)
}

/** The day of a moment, as partitions are named: `20261121`. */
function dayNameOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10).replaceAll('-', '')
}

/** @param name `20261121` */
function dayStartOf(name: string | null): number[] {
  const [, year, month, day] = /^(\d{4})(\d{2})(\d{2})$/.exec(name ?? '') ?? []
  return day === undefined ? [] : [Date.parse(`${year}-${month}-${day}T00:00:00Z`)]
}

/**
 * Splits a range at days of UTC. PostgreSQL plans every partition of a range: many readers find
 * what they want in the first days, and the windows after them are longer.
 */
function* windowsOf({ fromMs, toMs }: TimeRange, order: BlockQuery['order']): Generator<TimeRange> {
  const isRising = order === 'oldest'
  let days = 1
  let [low, high] = [fromMs, toMs]
  while (low < high) {
    const length = days * SPAN_MS.day
    const cut = isRising
      ? Math.min(high, spanStart('day', low) + length)
      : Math.max(low, spanStart('day', high - 1) + SPAN_MS.day - length)
    yield isRising ? { fromMs: low, toMs: cut } : { fromMs: cut, toMs: high }
    if (isRising) low = cut
    else high = cut
    days = Math.min(WINDOW_DAYS_MAX, 2 * days)
  }
}

/** Columns of the blocks in the database and of those in the archive. */
function eitherOf(columns: SQL, condition: SQL): SQL {
  return sql`(select ${columns} from score_blocks where ${condition}
    union all select ${columns} from score_archive_blocks where ${condition}) as either`
}

/** Bounds that lead to the partitions and to the primary key. */
function rangeOf({ fromMs, toMs }: BlockQuery): SQL {
  const startMs = Number.isFinite(fromMs) ? spanStart('hour', fromMs) : fromMs
  return sql`first_at >= ${momentText(startMs)} and first_at < ${momentText(toMs)}`
}

function conditionOf(query: BlockQuery): SQL {
  const parts = [rangeOf(query), sql`last_at >= ${momentText(query.fromMs)}`]
  const { deploymentId, reference } = query
  if (deploymentId !== undefined) {
    parts.push(sql`deployments @> ${`{${deploymentHash(deploymentId)}}`}::integer[]`)
  }
  if (reference !== undefined) {
    const bits = sql`octet_length(reference_filter) * 8`
    parts.push(sql`reference_filter is not null`)
    for (const hash of referenceHashes(reference.teamId, reference.reference)) {
      parts.push(sql`get_bit(reference_filter, ${hash}::bigint % (${bits})) = 1`)
    }
  }
  return sql.join(parts, sql` and `)
}
