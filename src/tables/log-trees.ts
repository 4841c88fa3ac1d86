import { bigint, integer, pgTable, primaryKey, smallint } from 'drizzle-orm/pg-core'
import { bytes, idText, moment } from './columns.ts'

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
