import { type SQL, sql } from 'drizzle-orm'
import {
  DatabaseStore,
  epochMs,
  momentText,
  queryRows,
  type Transaction,
} from '../../platform/db/client.ts'
import { rootCause } from '../../platform/db/errors.ts'
import { withAdvisoryLock } from '../../platform/db/transactions.ts'
import type { EncodedBlock } from '../blocks/block-encoder.ts'
import { BLOCK_COLUMNS, type BlockRow, readBlock } from '../blocks/block-rows.ts'
import { damagedColumns } from '../blocks/damaged-block.ts'
import { IS_CURRENT, IS_INDEX_SOUND, indexSum, setFilter } from '../blocks/index-sums.ts'
import { CODECS, type StoredBlock } from '../blocks/stored-block.ts'
import { SPAN_MS } from '../rollups/spans.ts'
import { ARCHIVED_COLUMNS, type ArchivedBlock } from './archived-blocks.ts'
import { checkHeld, type Holding } from './lease.ts'
import { makeLive, type NewFile } from './manifest-store.ts'
import { dayText } from './written-part.ts'

/** The place of a day's blocks: in its partition, or beside all partitions. */
export interface ClosedDay {
  readonly dayMs: number
  readonly isStray: boolean
}

/** A block of a day, before its data are read. */
export interface DayBlock {
  readonly block_id: string
  readonly first_at_ms: number
  readonly bytes: number
  readonly applicants: number
}

/** The blocks of a day are not those that were written: the next round writes them anew. */
export class DayChangedError extends Error {
  constructor() {
    super('the blocks of a day have changed while they were archived')
  }
}

/** Another transaction uses the table of a day: the same call may succeed a moment later. */
export class DayLockedError extends Error {
  constructor(cause: unknown) {
    super('the table of a day is in use', { cause })
  }
}

/** Whoever writes to the log waits behind a lock that is waited for. */
const LOCK_TIMEOUT_MS = 1_000
/** A lock that was not free in this time, and a deadlock. */
const LOCKED_CODES = ['55P03', '40P01']
const NAME = /^score_blocks_p(\d{4})(\d{2})(\d{2})$/

/** The days of the log in PostgreSQL, as the archive takes them. */
export class DayStore extends DatabaseStore {
  /**
   * Days that ended before a moment and have blocks, oldest first.
   *
   * @param endedBeforeMs the end of the youngest day
   */
  async closedDays(endedBeforeMs: number): Promise<ClosedDay[]> {
    const rows = await queryRows<{ name: string }>(
      this.db,
      sql`select c.relname::text as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'score_blocks'::regclass order by 1`,
    )
    const days: ClosedDay[] = []
    for (const { name } of rows) {
      const dayMs = readDay(name)
      if (dayMs === null || dayMs + SPAN_MS.day > endedBeforeMs) continue
      if (await this.hasBlocks(sql`${sql.identifier(name)}`)) days.push({ dayMs, isStray: false })
    }
    const strays = await queryRows<{ day_ms: number }>(
      this.db,
      sql`select ${epochMs(sql`date_trunc('day', first_at, 'UTC')`)} as day_ms
        from score_blocks_default
        where date_trunc('day', first_at, 'UTC') <= ${momentText(endedBeforeMs - SPAN_MS.day)}
        group by 1 having bool_or(${IS_CURRENT}) order by 1`,
    )
    return [...days, ...strays.map(({ day_ms: dayMs }) => ({ dayMs, isStray: true }))]
  }

  /** Tells whether a spool was drained on a day and not since: it may hold more of that day. */
  async isSpoolBehind(dayMs: number): Promise<boolean> {
    const [row] = await queryRows<{ is_behind: boolean }>(
      this.db,
      sql`select exists (select 1 from spool_cursors where updated_at >= ${momentText(dayMs)}
        and updated_at < ${momentText(dayMs + SPAN_MS.day)}) as is_behind`,
    )
    return row?.is_behind ?? true
  }

  /** In the order of their key. */
  listBlocks(day: ClosedDay): Promise<DayBlock[]> {
    return queryRows<DayBlock>(
      this.db,
      sql`select block_id::text as block_id, ${epochMs(sql`first_at`)} as first_at_ms, applicants,
          octet_length(data) + octet_length(sources) as bytes
        from ${formatTable(day)} where ${matchDay(day)} and ${IS_CURRENT}
        order by first_at, block_id`,
    )
  }

  /** @throws DayChangedError if one of them has gone; DamagedBlock if its columns are damaged */
  async read(day: ClosedDay, blocks: readonly DayBlock[]): Promise<StoredBlock[]> {
    const keys = sql.join(
      blocks.map((block) => sql`(${momentText(block.first_at_ms)}, ${block.block_id}::bigint)`),
      sql`, `,
    )
    const rows = await queryRows<BlockRow>(
      this.db,
      sql`select ${BLOCK_COLUMNS} from ${formatTable(day)}
        where (first_at, block_id) in (select at::timestamptz, id
          from (values ${keys}) as wanted(at, id)) order by first_at, block_id`,
    )
    if (rows.length !== blocks.length) throw new DayChangedError()
    const stored = rows.map(readBlock)
    for (const block of stored) {
      // Its rows would leave with the table, and whether a merged block has them is not known.
      if (block.damagedIndexIn) throw damagedColumns(block, 'index', block.damagedIndexIn)
    }
    return stored
  }

  /**
   * Makes sure that a day could move now: that nobody holds its table.
   *
   * @throws DayLockedError, LeaseLostError
   */
  checkFree(lease: Holding, day: ClosedDay): Promise<void> {
    return this.changing(lease, async (tx) => {
      // A day beside the partitions moves without this lock.
      if (!day.isStray)
        await tx.execute(sql`lock table ${formatTable(day)} in access exclusive mode`)
    })
  }

  /**
   * Moves a day to its files: the manifest gets them, and the blocks leave `score_blocks`, all in
   * one transaction. It first makes sure that the day has the blocks of the files, and no others.
   *
   * @throws DayChangedError, DayLockedError, LeaseLostError; then nothing has changed
   */
  switchTo(lease: Holding, day: ClosedDay, files: readonly NewFile[]): Promise<void> {
    return this.changing(lease, async (tx) => {
      const table = formatTable(day)
      // Until the end: no drain may add a block that no file has.
      await tx.execute(sql`lock table ${table} in share row exclusive mode`)
      let blocks = 0
      for (const file of files) {
        await makeLive(tx, file)
        const moved = await queryRows(tx, makeMove(table, file))
        if (moved.length !== file.places.length) throw new DayChangedError()
        blocks += moved.length
      }
      if (!day.isStray) {
        const [left] = await queryRows<{ count: number }>(
          tx,
          sql`select count(*)::float8 as count from ${table} where ${IS_CURRENT}`,
        )
        if (left?.count !== blocks) throw new DayChangedError()
        await tx.execute(sql`select drop_log_partition(${formatName(day)})`)
        return
      }
      for (const { places } of files) {
        await tx.execute(sql`delete from ${table} as b using ${makePlaces(places)}
          where b.first_at = p.first_at and b.block_id = p.block_id`)
      }
    })
  }

  /** The blocks of a file in their order, before their data are read. */
  blocksIn(fileKey: string): Promise<ArchivedBlock[]> {
    return queryRows<ArchivedBlock>(
      this.db,
      sql`select ${ARCHIVED_COLUMNS} from score_archive_blocks where file_key = ${fileKey}
        order by first_at, block_id`,
    )
  }

  /**
   * Moves the blocks of a file to another one, and changes those that were written anew.
   *
   * @throws DayChangedError, DayLockedError, LeaseLostError; then nothing has changed
   */
  replaceFile(
    lease: Holding,
    oldKey: string,
    file: NewFile,
    changed: readonly { readonly stored: StoredBlock; readonly encoded: EncodedBlock }[],
  ): Promise<void> {
    return this.changing(lease, async (tx) => {
      await makeLive(tx, file)
      for (const { stored, encoded } of changed) {
        await tx.execute(sql`update score_archive_blocks
          set ${setFilter(encoded)},
            codec = ${CODECS.indexOf(encoded.codec)}, raw_bytes = ${encoded.rawBytes},
            checksum = ${encoded.checksum}, counts = ${encoded.counts}
          where first_at = ${momentText(stored.firstAtMs)} and file_key = ${oldKey}
            and block_id = ${stored.blockId}::bigint and checksum = ${stored.checksum}
            and ${IS_INDEX_SOUND.score_archive_blocks}`)
        await tx.execute(sql`update score_archive_blocks set index_sum = ${indexSum(sql`false`)}
          where first_at = ${momentText(stored.firstAtMs)} and file_key = ${oldKey}
            and block_id = ${stored.blockId}::bigint and checksum = ${encoded.checksum}`)
      }
      const moved = await queryRows(
        tx,
        sql`update score_archive_blocks as b set file_key = ${file.key}, data_at = p.data_at,
            data_bytes = p.data_bytes, sources_bytes = p.sources_bytes
          from ${makePlaces(file.places)}
          where b.first_at = p.first_at and b.block_id = p.block_id and b.checksum = p.checksum
            and b.file_key = ${oldKey} returning 1`,
      )
      const left = await queryRows(
        tx,
        sql`select 1 from score_archive_blocks where file_key = ${oldKey} limit 1`,
      )
      if (moved.length !== file.places.length || left.length > 0) throw new DayChangedError()
      await tx.execute(sql`update score_archive_files set state = 'old', state_at = now()
        where key = ${oldKey} and state = 'live'`)
    })
  }

  private async hasBlocks(table: SQL): Promise<boolean> {
    const rows = await queryRows(this.db, sql`select 1 from ${table} where ${IS_CURRENT} limit 1`)
    return rows.length > 0
  }

  private async changing<T>(lease: Holding, work: (tx: Transaction) => Promise<T>): Promise<T> {
    try {
      return await withAdvisoryLock(this.db, 'score_log_partitions', async (tx) => {
        await tx.execute(sql.raw(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`))
        await checkHeld(tx, lease)
        return work(tx)
      })
    } catch (error) {
      throw isLocked(error) ? new DayLockedError(error) : error
    }
  }
}

function formatTable(day: ClosedDay): SQL {
  return sql`${sql.identifier(formatName(day))}`
}

function formatName({ dayMs, isStray }: ClosedDay): string {
  return `score_blocks_${isStray ? 'default' : `p${dayText(dayMs).replaceAll('-', '')}`}`
}

function matchDay({ dayMs }: ClosedDay): SQL {
  return sql`first_at >= ${momentText(dayMs)} and first_at < ${momentText(dayMs + SPAN_MS.day)}`
}

function makeMove(table: SQL, { key, places }: NewFile): SQL {
  return sql`insert into score_archive_blocks (first_at, last_at, id_from, id_to, block_id, records,
      applicants, deployments, reference_filter, filter_sum, index_sum, codec, raw_bytes, checksum, file_key, data_at,
      data_bytes, sources_bytes, counts)
    select b.first_at, b.last_at, b.id_from, b.id_to, b.block_id, b.records, b.applicants,
      b.deployments, b.reference_filter, b.filter_sum, b.index_sum, b.codec, b.raw_bytes, b.checksum, ${key}, p.data_at,
      p.data_bytes, p.sources_bytes, b.counts
    from ${table} as b join ${makePlaces(places)}
      on b.first_at = p.first_at and b.block_id = p.block_id and b.checksum = p.checksum
    where b.superseded_at is null returning 1`
}

function makePlaces(places: NewFile['places']): SQL {
  const rows = places.map((place) => ({
    first_at: momentText(place.firstAtMs),
    block_id: place.blockId,
    checksum: place.checksum,
    data_at: place.dataAt,
    data_bytes: place.dataBytes,
    sources_bytes: place.sourcesBytes,
  }))
  return sql`json_to_recordset(${JSON.stringify(rows)}::text::json) as p(first_at timestamptz,
    block_id bigint, checksum bigint, data_at bigint, data_bytes integer, sources_bytes integer)`
}

function isLocked(error: unknown): boolean {
  const cause = rootCause(error)
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  return typeof code === 'string' && LOCKED_CODES.includes(code)
}

function readDay(name: string): number | null {
  const [, year, month, day] = NAME.exec(name) ?? []
  return day === undefined ? null : Date.parse(`${year}-${month}-${day}T00:00:00Z`)
}
