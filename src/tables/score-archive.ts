import { bigint, boolean, index, integer, pgTable, primaryKey, smallint } from 'drizzle-orm/pg-core'
import { bytes, idText, jsonText, moment } from './columns.ts'
import { blockContent, blockPlace } from './score-log.ts'

/**
 * The row `log` has the identity of the archive, and which process does its rounds. The file
 * `_archive.json` in the store has the same identity, so that a directory whose volume is not
 * mounted is noticed. A row with the name of a day is there while its files are changed.
 */
export const scoreArchive = pgTable('score_archive', {
  /** `log`, or a day such as `2026-11-21`. */
  name: idText('name').primaryKey(),
  /** Empty in rows of days. */
  archiveId: idText('archive_id').notNull(),
  /**
   * JSON array: tokens that this database has left in `_archive.json`, oldest first. A copy of the
   * database does not know the later ones.
   */
  owners: jsonText('owners'),
  /** Random; null: no process works. */
  holder: idText('holder'),
  /** By the clock of the database. */
  leasedUntil: moment('leased_until').notNull(),
})

/**
 * The manifest: the files of closed days in the store of objects. Written in the transaction that
 * takes the same blocks out of `score_blocks`. A name is never used twice: the row stays when its
 * object is deleted, until its day is long beyond the retention.
 */
export const scoreArchiveFiles = pgTable(
  'score_archive_files',
  {
    /** Name of the object. */
    key: idText('key').primaryKey(),
    /** Start of the day in UTC. */
    day: moment('day').notNull(),
    /** `part`: of the day when it was closed; `late`: what was drained after that. */
    kind: idText('kind').notNull(),
    number: integer('number').notNull(),
    /** Rises when the file is written anew. */
    generation: integer('generation').notNull(),
    /** Rows of the Parquet file: one for each applicant and model. */
    rowCount: bigint('row_count', { mode: 'number' }).notNull(),
    /** Requests. */
    records: bigint('records', { mode: 'number' }).notNull(),
    applicants: bigint('applicants', { mode: 'number' }).notNull(),
    bytes: bigint('bytes', { mode: 'number' }).notNull(),
    sha256: bytes('sha256').notNull(),
    /** Rows, least and greatest request id of each row group. */
    rowGroups: jsonText('row_groups').notNull(),
    /**
     * `writing`: the object may be there, and readers need it not; bytes and SHA-256 say what it
     * will be. `live`. `old`: the object will be deleted, because another generation has taken its
     * place, or it was not used, or its retention is over. `gone`: it was deleted.
     */
    state: idText('state').notNull(),
    /** True if `_manifest.json` of the day lists the file. */
    isListed: boolean('is_listed').notNull(),
    archivedAt: moment('archived_at').notNull(),
    /** Since when it has its state. */
    stateAt: moment('state_at').notNull().defaultNow(),
    /**
     * Number of times that the object of a `gone` file was looked for and deleted: one that was put
     * late can come back. For a `live` one: whether `_manifest.json` was written again an hour
     * later.
     */
    cleanings: smallint('cleanings').notNull().default(0),
    /** When its object was last read again and compared; null: not since it was written. */
    checkedAt: moment('checked_at'),
    /** The fault found: `missing` or `damaged`; null: the object was whole. */
    fault: idText('fault'),
  },
  (table) => [index('score_archive_files_day').on(table.day)],
)

/**
 * The blocks in live files: the columns of `score_blocks` by which readers find them, and where the
 * rest is. A block is in one of the two tables. Rows leave with the retention of their day.
 */
export const scoreArchiveBlocks = pgTable(
  'score_archive_blocks',
  {
    ...blockPlace(),
    ...blockContent(),
    /** Name of the object that holds its data. */
    fileKey: idText('file_key').notNull(),
    /** Offset of its data in the object; its sources follow. */
    dataAt: bigint('data_at', { mode: 'number' }).notNull(),
    dataBytes: integer('data_bytes').notNull(),
    sourcesBytes: integer('sources_bytes').notNull(),
  },
  (table) => [
    primaryKey({ name: 'score_archive_blocks_identity', columns: [table.firstAt, table.blockId] }),
    index('score_archive_blocks_file').on(table.fileKey),
  ],
)
