import { sql } from 'drizzle-orm'
import { askTwice } from '../../platform/db/asked-rows.ts'
import {
  DatabaseStore,
  epochMs,
  momentText,
  queryRows,
  type Transaction,
} from '../../platform/db/client.ts'
import { type Holding, whileHeld } from './lease.ts'
import {
  type FileKind,
  type FileName,
  type FileSlot,
  formatFileKey,
  type RowGroupFacts,
  type WrittenPart,
} from './written-part.ts'
export interface ObjectContent {
  readonly bytes: number
  readonly sha256: Buffer
}

/** A file that is in the store, with what the manifest says of it. */
export interface ArchiveFile extends Omit<WrittenPart, 'places'>, ObjectContent {
  readonly name: FileName
  readonly key: string
}

/** A file that was just written, with the places of its blocks. */
export interface NewFile extends ArchiveFile, WrittenPart {}

/** Facts of the archive for operators. */
export interface ArchiveFacts {
  readonly days: number
  readonly bytes: number
}

interface FileRow {
  readonly key: string
  readonly day_ms: number
  readonly kind: FileKind
  readonly number: number
  readonly generation: number
  readonly row_count: number
  readonly records: number
  readonly applicants: number
  readonly bytes: number
  readonly sha256: Uint8Array
  readonly row_groups: string
}

const FILE_COLUMNS = sql`key, ${epochMs(sql`day`)} as day_ms, kind, number, generation,
  row_count::float8 as row_count, records::float8 as records, applicants::float8 as applicants,
  bytes::float8 as bytes, sha256, row_groups::text as row_groups`
/** Rows of the index that one statement deletes, so that it ends soon. */
const EXPIRED_BLOCKS_MAX = 10_000

/** The manifest of the archive in PostgreSQL: the files that readers need. */
export class ManifestStore extends DatabaseStore {
  async hasFiles(): Promise<boolean> {
    const found = await askTwice(this.db, async (db) => {
      const files = await queryRows(
        db,
        sql`select 1 from score_archive_files where state = 'live' limit 1`,
      )
      return files.length > 0 ? files : null
    })
    return found !== null
  }

  /** The number that the next file of a day gets. */
  async nextNumber(dayMs: number, kind: FileKind): Promise<number> {
    const [row] = await queryRows<{ next: number }>(
      this.db,
      sql`select (coalesce(max(number), -1) + 1)::integer as next from score_archive_files
        where day = ${momentText(dayMs)} and kind = ${kind} and state = 'live'`,
    )
    return row?.next ?? 0
  }

  /**
   * Notes that an object will be written: whatever happens then, it is used or deleted.
   *
   * A name has one content for ever. The same content gets the name that a process has noted for it
   * which died; any other gets a generation that no row has ever had.
   */
  begin(lease: Holding, slot: FileSlot, { bytes, sha256 }: ObjectContent): Promise<FileName> {
    const { dayMs, kind, number } = slot
    const isOfSlot = sql`day = ${momentText(dayMs)} and kind = ${kind} and number = ${number}`
    return whileHeld(this.db, lease, async (tx) => {
      const [same] = await queryRows<{ generation: number }>(
        tx,
        sql`update score_archive_files set state_at = now() where key = (
            select key from score_archive_files where ${isOfSlot} and state = 'writing'
              and bytes = ${bytes} and sha256 = ${sha256} order by generation limit 1)
          returning generation`,
      )
      if (same !== undefined) return { ...slot, generation: same.generation }
      const [last] = await queryRows<{ generation: number }>(
        tx,
        sql`select coalesce(max(generation), 0)::integer as generation from score_archive_files
          where ${isOfSlot}`,
      )
      const name = { ...slot, generation: (last?.generation ?? 0) + 1 }
      await tx.execute(sql`insert into score_archive_files (key, day, kind, number, generation,
          row_count, records, applicants, bytes, sha256, row_groups, state, is_listed, archived_at,
          state_at, cleanings, checked_at, fault)
        values (${formatFileKey(name)}, ${momentText(dayMs)}, ${kind}, ${number}, ${name.generation},
          0, 0, 0, ${bytes}, ${sha256}, '[]', 'writing', false, now(), now(), 0, null,
          null)`)
      return name
    })
  }

  /**
   * Days before this one that the archive has, oldest first, but for those that it got something of
   * less than a day ago: the clock of a replica may have been years behind.
   */
  async expiredDays(beforeMs: number): Promise<number[]> {
    const rows = await queryRows<{ day_ms: number }>(
      this.db,
      sql`select ${epochMs(sql`day`)} as day_ms from score_archive_files
        where day < ${momentText(beforeMs)} and state = 'live'
        group by day having max(archived_at) < now() - interval '1 day' order by 1`,
    )
    return rows.map(({ day_ms }) => day_ms)
  }

  /**
   * Takes a day out of the archive, some of its blocks at a time.
   *
   * @returns whether it is out
   */
  expire(lease: Holding, dayMs: number, nextDayMs: number): Promise<boolean> {
    return whileHeld(this.db, lease, async (tx) => {
      const gone = await queryRows(
        tx,
        sql`delete from score_archive_blocks where ctid = any(array(
          select ctid from score_archive_blocks where first_at >= ${momentText(dayMs)}
            and first_at < ${momentText(nextDayMs)} limit ${EXPIRED_BLOCKS_MAX})) returning 1`,
      )
      if (gone.length === EXPIRED_BLOCKS_MAX) return false
      await tx.execute(sql`update score_archive_files set state = 'old', state_at = now()
        where day = ${momentText(dayMs)} and state = 'live'`)
      return true
    })
  }

  /** The files of a day that readers need, in the order of their names. */
  async liveFiles(dayMs: number): Promise<ArchiveFile[]> {
    const rows = await queryRows<FileRow>(
      this.db,
      sql`select ${FILE_COLUMNS} from score_archive_files
        where day = ${momentText(dayMs)} and state = 'live' order by key`,
    )
    return rows.map(readFileRow)
  }

  /** A file that readers need; null: it is not needed any more. */
  async liveFile(key: string): Promise<ArchiveFile | null> {
    const [row] = await queryRows<FileRow>(
      this.db,
      sql`select ${FILE_COLUMNS} from score_archive_files
        where key = ${key} and state = 'live'`,
    )
    return row === undefined ? null : readFileRow(row)
  }

  async facts(): Promise<ArchiveFacts> {
    const [row] = await queryRows<ArchiveFacts>(
      this.db,
      sql`select count(distinct day)::float8 as days, coalesce(sum(bytes), 0)::float8 as bytes
        from score_archive_files where state = 'live'`,
    )
    return row ?? { days: 0, bytes: 0 }
  }
}

/** Makes a file one that readers need, within the transaction that moves its blocks to it. */
export async function makeLive(tx: Transaction, file: ArchiveFile): Promise<void> {
  const made = await queryRows(
    tx,
    sql`update score_archive_files set row_count = ${file.rowCount}, records = ${file.records},
        applicants = ${file.applicants}, row_groups = ${JSON.stringify(file.rowGroups)}::text::json,
        state = 'live', state_at = now(), is_listed = false, archived_at = now()
      where key = ${file.key} and state = 'writing' and bytes = ${file.bytes}
        and sha256 = ${file.sha256} returning 1`,
  )
  if (made.length === 0) throw new Error('a file of the archive was given up meanwhile')
}

function readFileRow(row: FileRow): ArchiveFile {
  const { day_ms: dayMs, kind, number, generation } = row
  return {
    name: { dayMs, kind, number, generation },
    key: row.key,
    rowCount: row.row_count,
    records: row.records,
    applicants: row.applicants,
    bytes: row.bytes,
    sha256: Buffer.from(row.sha256),
    rowGroups: JSON.parse(row.row_groups) as RowGroupFacts[],
  }
}
