import { type SQL, sql } from 'drizzle-orm'
import { ForeignRowError } from '../../platform/db/asked-rows.ts'
import { CallGroups } from '../../platform/db/call-groups.ts'
import { DatabaseStore, queryRows } from '../../platform/db/client.ts'
import type { ScoreKey } from '../record/record-v4.ts'
import {
  IS_KEPT,
  KEY_COLUMNS,
  type KeyOfRequest,
  type KeyRow,
  readKeyRow,
  readTime,
  SLOTS,
  splitHash,
} from './key-rows.ts'

/** Pages of the database of one slot, without the last. */
interface TablePart {
  readonly slot: number
  readonly first: number
  readonly end: number
}

type FoundScoreKey = Pick<KeyOfRequest, 'bodyHash' | 'requestId'>

/** Longest wait of a caller. */
const DEADLINE_MS = 5_000
/** Keys of a statement. */
const GROUP_MAX = 128
/** Pages of the database that a statement reads: some 240 rows, which take some milliseconds. */
const PAGES_READ = 2
/** The same where only hashes are read. */
const HASH_PAGES_READ = 32

/**
 * The keys of drained single scores, for a day. The drain writes them in the transaction of their
 * blocks: see `insertScoreKeys`.
 */
export class ScoreKeyStore extends DatabaseStore {
  private readonly searches = new CallGroups({
    run: (hashes: readonly Uint8Array[]) => this.findAll(hashes),
    weightMax: GROUP_MAX,
    deadlineMs: DEADLINE_MS,
  })

  /** The newest request with the key that is at most a day old by the time in its id. */
  find(keyHash: ScoreKey['keyHash']): Promise<FoundScoreKey | null> {
    return this.searches.call(keyHash)
  }

  /**
   * All keys of the last day that were committed before the call, in pages of some hundreds, in any
   * order, and further ones. A key that was written twice comes twice. Each page is a statement of
   * its own: no snapshot stays open, and a caller may take its time.
   */
  async *pages(): AsyncGenerator<readonly KeyOfRequest[]> {
    for await (const part of this.listParts(PAGES_READ)) {
      const rows = await queryRows<KeyRow>(
        this.db,
        sql`select ${KEY_COLUMNS} from ${rowsIn(part)} and ${IS_KEPT}`,
      )
      if (rows.length > 0) yield rows.map(readKeyRow)
    }
  }

  /** The first 8 bytes of the hashes of the same keys, one after the other. */
  async *hashPages(): AsyncGenerator<Uint8Array> {
    for await (const part of this.listParts(HASH_PAGES_READ)) {
      const [row] = await queryRows<{ words: Uint8Array | null }>(
        this.db,
        sql`select string_agg(int8send(key_high), ''::bytea) as words
          from ${rowsIn(part)} and ${IS_KEPT}`,
      )
      if (row?.words) yield row.words
    }
  }

  private async *listParts(pagesEach: number): AsyncGenerator<TablePart> {
    const sizes = await queryRows<{ slot: number; pages: number }>(
      this.db,
      sql`select slot, (pg_relation_size(('score_keys_' || slot)::regclass)
          / current_setting('block_size')::integer)::integer as pages
        from generate_series(0, ${sql.raw(`${SLOTS - 1}`)}) as slot`,
    )
    for (const { slot, pages } of sizes) {
      for (let first = 0; first < pages; first += pagesEach) {
        yield { slot, first, end: Math.min(first + pagesEach, pages) }
      }
    }
  }

  /**
   * Empties the partition of the day before yesterday, from an hour after midnight on, until an
   * hour before. While others read it, as a backup does for hours, it waits for the next call.
   *
   * @param nowMs by the clock of the database, which says the days of the partitions
   */
  async removeExpired(nowMs: number): Promise<void> {
    const now = new Date(nowMs).toISOString()
    await this.db.execute(sql`select empty_score_keys(${now}::timestamptz)`)
  }

  private async findAll(hashes: readonly Uint8Array[]): Promise<(FoundScoreKey | null)[]> {
    const asked = hashes.map(splitHash)
    const words = sql.raw(`'{${asked.map(([high]) => high).join()}}'::bigint[]`)
    const rows = await queryRows<KeyRow>(
      this.db,
      sql`select ${KEY_COLUMNS} from score_keys where key_high = any(${words}) and ${IS_KEPT}`,
    )
    const newest = new Map<string, KeyRow>()
    const known = new Set(asked.map(([high]) => `${high}`))
    for (const row of rows) {
      if (!known.has(row.key_high)) throw new ForeignRowError('the row of another one')
      const name = `${row.key_high} ${row.key_low}`
      const present = newest.get(name)
      if (present === undefined || readTime(present) < readTime(row)) newest.set(name, row)
    }
    return asked.map(([high, low]) => {
      const row = newest.get(`${high} ${low}`)
      if (row === undefined) return null
      const { bodyHash, requestId } = readKeyRow(row)
      return { bodyHash, requestId }
    })
  }
}

function rowsIn({ slot, first, end }: TablePart): SQL {
  return sql`${sql.identifier(`score_keys_${slot}`)}
    where ctid >= ${`(${first},0)`}::tid and ctid < ${`(${end},0)`}::tid`
}
