import { sql } from 'drizzle-orm'
import { type Database, rowsOf, type Transaction } from '../platform/db/client.ts'
import { epochMs, momentText } from '../rollups/rollup-rows.ts'
import { checkHeld } from './lease.ts'
import { type FileKind, type FileName, fileKeyOf } from './names.ts'
import type { RowGroupFacts, WrittenPart } from './written-part.ts'

/** A file that is in the store, with what the manifest says of it. */
export interface ArchiveFile extends Omit<WrittenPart, 'places'> {
  readonly name: FileName
  readonly key: string
  readonly bytes: number
  readonly sha256: Buffer
}

/** A file that was just written, with the places of its blocks. */
export interface NewFile extends ArchiveFile, WrittenPart {}

/** What operators see of the archive. */
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

/** The manifest of the archive in PostgreSQL. */
export class ManifestStore {
  private readonly db: Database

  constructor(db: Database) {
    this.db = db
  }

  /** Identity of the archive of this database. */
  async identity(): Promise<string> {
    const [row] = await rowsOf<{ archive_id: string }>(
      this.db,
      sql`select archive_id from score_archive where name = 'log'`,
    )
    if (row === undefined) throw new Error('the archive has no identity yet')
    return row.archive_id
  }

  /** Whether the archive has a file that readers need. */
  async hasFiles(): Promise<boolean> {
    const [row] = await rowsOf<{ has_files: boolean }>(
      this.db,
      sql`select exists (select 1 from score_archive_files where state = 'live') as has_files`,
    )
    return row?.has_files ?? false
  }

  /** The number that the next file of a day gets. */
  async nextNumber(dayMs: number, kind: FileKind): Promise<number> {
    const [row] = await rowsOf<{ next: number }>(
      this.db,
      sql`select (coalesce(max(number), -1) + 1)::integer as next from score_archive_files
        where day = ${momentText(dayMs)} and kind = ${kind}`,
    )
    return row?.next ?? 0
  }

  /** Notes that an object will be written: whatever happens then, it is used or deleted. */
  begin(holder: string, name: FileName): Promise<void> {
    const { dayMs, kind, number, generation } = name
    return this.held(holder, async (tx) => {
      await tx.execute(sql`insert into score_archive_files (key, day, kind, number, generation,
          row_count, records, applicants, bytes, sha256, row_groups, state, is_listed, archived_at)
        values (${fileKeyOf(name)}, ${momentText(dayMs)}, ${kind}, ${number}, ${generation},
          0, 0, 0, 0, ''::bytea, '[]', 'writing', false, now()) on conflict (key) do nothing`)
    })
  }

  /** Forgets a file whose object is deleted, or belongs to somebody else. */
  forget(holder: string, key: string): Promise<void> {
    return this.held(holder, async (tx) => {
      await tx.execute(sql`delete from score_archive_files where key = ${key} and state <> 'live'`)
    })
  }

  /** Files that a process has left when it died are not used. */
  dropUnfinished(holder: string): Promise<void> {
    return this.held(holder, async (tx) => {
      await tx.execute(sql`update score_archive_files set state = 'old' where state = 'writing'`)
    })
  }

  /** Takes all days before this one out of the archive. */
  expire(holder: string, beforeMs: number): Promise<void> {
    const before = momentText(beforeMs)
    return this.held(holder, async (tx) => {
      const gone = await rowsOf(
        tx,
        sql`update score_archive_files set state = 'old'
          where day < ${before} and state = 'live' returning 1`,
      )
      if (gone.length === 0) return
      await tx.execute(sql`delete from score_archive_blocks where first_at < ${before}`)
    })
  }

  /** Whether there are objects to delete: `old` ones, or only those of a process that writes. */
  async leftovers(): Promise<'old' | 'writing' | 'none'> {
    const [row] = await rowsOf<{ state: 'old' | 'writing' }>(
      this.db,
      sql`select state from score_archive_files where state <> 'live' order by state limit 1`,
    )
    return row?.state ?? 'none'
  }

  /** Days with objects to delete, or whose `_manifest.json` says something else. */
  async untidyDays(): Promise<number[]> {
    const rows = await rowsOf<{ day_ms: number }>(
      this.db,
      sql`select distinct ${epochMs(sql`day`)} as day_ms from score_archive_files
        where state = 'old' or (state = 'live' and not is_listed) order by 1`,
    )
    return rows.map(({ day_ms }) => day_ms)
  }

  /** The files of a day that readers need, in the order of their names. */
  async liveFiles(dayMs: number): Promise<ArchiveFile[]> {
    const rows = await rowsOf<FileRow>(
      this.db,
      sql`select ${FILE_COLUMNS} from score_archive_files
        where day = ${momentText(dayMs)} and state = 'live' order by key`,
    )
    return rows.map(fileOf)
  }

  /** A file that readers need; null: it is not needed any more. */
  async liveFile(key: string): Promise<ArchiveFile | null> {
    const [row] = await rowsOf<FileRow>(
      this.db,
      sql`select ${FILE_COLUMNS} from score_archive_files
        where key = ${key} and state = 'live'`,
    )
    return row === undefined ? null : fileOf(row)
  }

  async oldKeys(dayMs: number): Promise<string[]> {
    const rows = await rowsOf<{ key: string }>(
      this.db,
      sql`select key from score_archive_files
        where day = ${momentText(dayMs)} and state = 'old' order by key`,
    )
    return rows.map(({ key }) => key)
  }

  /** Notes that `_manifest.json` lists these files. */
  setListed(holder: string, keys: readonly string[]): Promise<void> {
    return this.held(holder, async (tx) => {
      for (const key of keys) {
        await tx.execute(sql`update score_archive_files set is_listed = true where key = ${key}`)
      }
    })
  }

  async facts(): Promise<ArchiveFacts> {
    const [row] = await rowsOf<ArchiveFacts>(
      this.db,
      sql`select count(distinct day)::float8 as days, coalesce(sum(bytes), 0)::float8 as bytes
        from score_archive_files where state = 'live'`,
    )
    return row ?? { days: 0, bytes: 0 }
  }

  private held<T>(holder: string, work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.db.transaction(async (tx) => {
      await checkHeld(tx, holder)
      return work(tx)
    })
  }
}

/** Makes a file one that readers need, within the transaction that moves its blocks to it. */
export async function makeLive(tx: Transaction, file: ArchiveFile): Promise<void> {
  const made = await rowsOf(
    tx,
    sql`update score_archive_files set row_count = ${file.rowCount}, records = ${file.records},
        applicants = ${file.applicants}, bytes = ${file.bytes}, sha256 = ${file.sha256},
        row_groups = ${JSON.stringify(file.rowGroups)}::text::json, state = 'live',
        is_listed = false, archived_at = now()
      where key = ${file.key} and state = 'writing' returning 1`,
  )
  if (made.length === 0) throw new Error('a file of the archive was given up meanwhile')
}

function fileOf(row: FileRow): ArchiveFile {
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
