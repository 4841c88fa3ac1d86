import { bigint, index, pgTable } from 'drizzle-orm/pg-core'
import { bytes } from './columns.ts'

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
