import { bigint, integer, pgTable, primaryKey, smallint } from 'drizzle-orm/pg-core'
import { bytes, idText, moment } from './columns.ts'

/** The columns by which readers find a block, in the database and in the archive. */
export const blockPlace = () => ({
  /** When the oldest and the newest request were scored. */
  firstAt: moment('first_at').notNull(),
  lastAt: moment('last_at').notNull(),
  /** Least and greatest time in the request ids. */
  idFrom: moment('id_from').notNull(),
  idTo: moment('id_to').notNull(),
  /** Random. */
  blockId: bigint('block_id', { mode: 'number' }).notNull(),
  /** Number of requests. */
  records: integer('records').notNull(),
  applicants: integer('applicants').notNull(),
  /** Hashes of the deployments, see `deploymentHash`. */
  deployments: integer('deployments').array().notNull(),
})

/** The columns that say what is in a block, and whether it is whole. */
export const blockContent = () => ({
  /** Bloom filter over the references, see `ReferenceFilter`; null without references. */
  referenceFilter: bytes('reference_filter'),
  /** See `filterSum` and `indexSum`. */
  filterSum: bigint('filter_sum', { mode: 'bigint' }).notNull(),
  indexSum: bytes('index_sum').notNull(),
  /** Index in `CODECS`. */
  codec: smallint('codec').notNull(),
  rawBytes: integer('raw_bytes').notNull(),
  /** CRC-32 of the raw bytes. */
  checksum: bigint('checksum', { mode: 'number' }).notNull(),
  /** See `countResults`; null without counts. */
  counts: bytes('counts'),
})

/**
 * The score log: the requests of one drained batch and one hour of UTC in each row, as
 * compressed columns. Written by the drain, and by the merge that makes large blocks of small ones.
 * Partitioned by day (see its migration: drizzle can't say it); rows leave with their partition.
 *
 * No foreign keys: the drain must not fail because of what happens elsewhere.
 */
export const scoreBlocks = pgTable(
  'score_blocks',
  {
    ...blockPlace(),
    /** Set once a merged block holds the requests: readers that have listed this one finish. */
    supersededAt: moment('superseded_at'),
    ...blockContent(),
    data: bytes('data').notNull(),
    /**
     * Which leaves of the trees hold its records, see `readSources`.
     */
    sources: bytes('sources').notNull(),
    /** When it was written, by the clock of the database: `firstAt` is by that of a replica. */
    drainedAt: moment('drained_at').notNull().defaultNow(),
  },
  (table) => [
    primaryKey({ name: 'score_blocks_identity', columns: [table.firstAt, table.blockId] }),
  ],
)

/**
 * Rollups of new blocks by deployment and minute, see `readSums`. Written by the drain in the
 * transaction of the block; deleted by the round of upkeep that adds them to `score_rollups`. Apart
 * from the blocks: PostgreSQL plans a statement over the partitions of two years for 0.2 s.
 */
export const scoreSums = pgTable(
  'score_sums',
  {
    /** As in the block. */
    firstAt: moment('first_at').notNull(),
    blockId: bigint('block_id', { mode: 'number' }).notNull(),
    deployments: integer('deployments').array().notNull(),
    sums: bytes('sums').notNull(),
  },
  (table) => [primaryKey({ name: 'score_sums_identity', columns: [table.firstAt, table.blockId] })],
)

/**
 * How far each spool is drained. The drain moves it in the transaction of the blocks, and only from
 * the position that it expects: a batch is stored once, whoever drains it.
 */
export const spoolCursors = pgTable('spool_cursors', {
  /** Random identity of a spool's directory. */
  spoolId: idText('spool_id').primaryKey(),
  segment: integer('segment').notNull(),
  offset: bigint('offset', { mode: 'number' }).notNull(),
  updatedAt: moment('updated_at').notNull(),
})
