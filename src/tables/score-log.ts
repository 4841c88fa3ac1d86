import { sql } from 'drizzle-orm'
import {
  bigint,
  bigserial,
  check,
  doublePrecision,
  index,
  integer,
  pgTable,
  primaryKey,
  smallint,
  text,
  unique,
} from 'drizzle-orm/pg-core'
import { bytes, idText, jsonText, moment } from './columns.ts'

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
 * The position up to which each spool is drained. The drain moves it in the transaction of the
 * blocks, and only from the position that it expects: a batch is stored once, whoever drains it.
 */
export const spoolCursors = pgTable('spool_cursors', {
  /** Random identity of a spool's directory. */
  spoolId: idText('spool_id').primaryKey(),
  segment: integer('segment').notNull(),
  offset: bigint('offset', { mode: 'number' }).notNull(),
  updatedAt: moment('updated_at').notNull(),
})

/**
 * References that were taken out of the score log, for as long as a spool may hold records from
 * before. Each drain leaves them out of what it stores.
 */
export const logErasures = pgTable(
  'log_erasures',
  {
    /** Rises with each erasure; an erasure of the same reference later raises it again. */
    number: bigserial('number', { mode: 'number' }).primaryKey(),
    teamId: idText('team_id').notNull(),
    /** See `hashOfReference`; the reference itself is stored nowhere. */
    referenceHash: text('reference_hash').notNull(),
    /** Records that were scored until then lose the reference. */
    coversUntil: moment('covers_until').notNull(),
  },
  (table) => [unique('log_erasures_reference').on(table.teamId, table.referenceHash)],
)

/**
 * The Merkle tree of each team: its leaves are the roots of drained blocks. The drain moves it on
 * in the transaction of the blocks. No foreign keys: the drain must not fail because of another
 * table.
 */
export const logTrees = pgTable('log_trees', {
  id: integer('id').generatedAlwaysAsIdentity().unique(),
  teamId: idText('team_id').primaryKey(),
  /** Number of leaves. */
  size: bigint('size', { mode: 'number' }).notNull(),
  /** See `TreeEdge`. */
  edge: bytes('edge').notNull(),
  /** Hash of the chain over the facts of all leaves, see `FactsChain`. */
  facts: bytes('facts').notNull(),
  /** See `treeSum`. */
  sum: bytes('sum').notNull(),
})

/**
 * Tree nodes that proofs need. Level 0 has the root of each drained block; levels 8, 16 and so on
 * have the roots of complete parts with 2^level leaves. Written by the drain and never changed;
 * rows stay when the records leave, because newer proofs need them.
 */
export const logTreeNodes = pgTable(
  'log_tree_nodes',
  {
    treeId: integer('tree_id').notNull(),
    level: smallint('level').notNull(),
    position: bigint('position', { mode: 'number' }).notNull(),
    hash: bytes('hash').notNull(),
    /**
     * Number of applicants of a drained block, and when the first was scored; null above level 0.
     */
    applicants: integer('applicants'),
    firstAt: moment('first_at'),
  },
  (table) => [
    primaryKey({
      name: 'log_tree_nodes_identity',
      columns: [table.treeId, table.level, table.position],
    }),
  ],
)

/**
 * Sums of the served results of a deployment within a minute, hour or day. Written by the upkeep of
 * blocks from their `score_sums`, read by the statistics, and deleted with the log's partitions.
 */
export const scoreRollups = pgTable(
  'score_rollups',
  {
    deploymentId: idText('deployment_id').notNull(),
    span: text('span').notNull(),
    startsAt: moment('starts_at').notNull(),
    requestCount: doublePrecision('request_count').notNull(),
    resultCount: doublePrecision('result_count').notNull(),
    // An average, because a sum of scores may be too large for its type.
    scoreAvg: doublePrecision('score_avg').notNull(),
    scoreMin: doublePrecision('score_min').notNull(),
    scoreMax: doublePrecision('score_max').notNull(),
    pdAvg: doublePrecision('pd_avg').notNull(),
    latencyAvgMs: doublePrecision('latency_avg_ms').notNull(),
    lastRequestAt: moment('last_request_at').notNull(),
    /** Pairs of bucket and count, one after the other, see `Counts`. */
    scoreBuckets: jsonText('score_buckets').notNull(),
    latencyBuckets: jsonText('latency_buckets').notNull(),
  },
  (table) => [
    primaryKey({
      name: 'score_rollups_identity',
      columns: [table.deploymentId, table.span, table.startsAt],
    }),
    // Finds what retention deletes.
    index('score_rollups_starts_at').on(table.startsAt),
    check('score_rollups_span', sql`${table.span} in ('minute', 'hour', 'day')`),
  ],
)

const word = (name: string) => bigint(name, { mode: 'bigint' }).notNull()

/**
 * The `Idempotency-Key`s of drained single scores, for a day or two: see `src/log/score-keys`, which
 * packs a row into 68 bytes. Its three partitions (see the migration: drizzle can't say them) take
 * turns by the UTC day of the write, and are emptied as a whole. No primary key: the index of half a
 * hash is the smallest, and a batch that is drained again may write a key again.
 */
export const scoreKeys = pgTable(
  'score_keys',
  {
    /** Keyed hash of caller, path and key. */
    keyHigh: word('key_high'),
    keyLow: word('key_low'),
    /** Of the keyed hash of the body. */
    bodyHash: word('body_hash'),
    /** 42 bits milliseconds since 1970, 84 bits the rest of the request's id, 2 bits the partition. */
    requestHigh: word('request_high'),
    requestLow: word('request_low'),
    /** An id that these bits don't hold, as UTF-8. */
    otherId: bytes('other_id'),
  },
  (table) => [index('score_keys_hash').on(table.keyHigh)],
)
