import { sql } from 'drizzle-orm'
import {
  type Database,
  DatabaseStore,
  epochMs,
  queryRows,
  type Transaction,
} from '../../platform/db/client.ts'
import { textList } from '../../platform/db/lists.ts'
import { withAdvisoryLock } from '../../platform/db/transactions.ts'

/** A statement that waits for a lock blocks all later ones: it fails and is tried again later. */
const LOCK_TIMEOUT_MS = 3_000
/** Most rows that one statement deletes, so that it ends soon. */
const DELETED_ROWS_MAX = 10_000
/**
 * Blocks that were drained less than a day ago are kept, however old their requests are said to be:
 * a replica whose clock is years behind has given them these times.
 */
const IS_FRESH = sql.raw(`drained_at >= now() - interval '1 day'`)
const NAME = /_p(\d{4})(\d{2})(\d{2})$/

/**
 * The partitions of the score log. A partition holds the requests of one day in UTC and has a name
 * such as `score_blocks_p20261121`. Rows without such a partition are in `score_blocks_default`.
 *
 * One replica at a time changes them, by functions of the database: its role need not own the
 * tables. A new partition is created as a table and then attached, so that reads and writes go on.
 * Dropping a partition locks the log briefly.
 */
export class LogTables extends DatabaseStore {
  /**
   * Creates the missing partitions of these days.
   *
   * @returns their names
   */
  makePartitions(dayStartsMs: readonly number[]): Promise<string[]> {
    return this.changing(async (tx) => {
      const present = new Set(await partitionNames(tx))
      const missing = dayStartsMs.filter((dayMs) => !present.has(formatName(dayMs)))
      if (missing.length === 0) return []
      // First: without this lock, rows of the day could be written to it during the move.
      await tx.execute(sql`lock table score_blocks_default in access exclusive mode`)
      for (const dayMs of missing) {
        const day = new Date(dayMs).toISOString().slice(0, 10)
        await tx.execute(sql`select make_log_partition(${day}::date)`)
      }
      return missing.map(formatName)
    })
  }

  /**
   * Drops the partitions of all days before this one, and the rollups with them. A day of which
   * something was drained less than a day ago stays.
   *
   * @returns the names of the partitions
   */
  async dropBefore(dayStartMs: number): Promise<string[]> {
    const dropped: string[] = []
    const before = new Date(dayStartMs).toISOString()
    const keptDays = await this.freshDays(before)
    const isOld = (moment: string) => {
      const day = sql`date_trunc('day', ${sql.identifier(moment)}, 'UTC')`
      return sql`${sql.identifier(moment)} < ${before}
        and ${day} <> all(${textList(keptDays)}::timestamptz[])`
    }
    const kept = new Set(keptDays.map((day) => formatName(Date.parse(day))))
    for (const name of await partitionNames(this.db)) {
      if (readDay(name) >= dayStartMs || kept.has(name)) continue
      if (await this.drop(name)) dropped.push(name)
    }
    await this.deleteAll('score_blocks_default', isOld('first_at'))
    await this.deleteAll('score_rollups', isOld('starts_at'))
    await this.deleteAll('score_sums', isOld('first_at'))
    return dropped
  }

  /** @returns false if a drain was faster, and wrote to it */
  private drop(name: string): Promise<boolean> {
    const table = sql.identifier(name)
    return this.changing(async (tx) => {
      if (!(await partitionNames(tx)).includes(name)) return false
      await tx.execute(sql`lock table ${table} in access exclusive mode`)
      const fresh = await queryRows(tx, sql`select 1 from ${table} where ${IS_FRESH} limit 1`)
      if (fresh.length > 0) return false
      await tx.execute(sql`select drop_log_partition(${name})`)
      return true
    })
  }

  /** Days before a moment of which something was drained less than a day ago. */
  private async freshDays(before: string): Promise<string[]> {
    const rows = await queryRows<{ day_ms: number }>(
      this.db,
      sql`select distinct ${epochMs(sql`date_trunc('day', first_at, 'UTC')`)} as day_ms
        from score_blocks where first_at < ${before} and ${IS_FRESH}`,
    )
    return rows.map(({ day_ms }) => new Date(day_ms).toISOString())
  }

  /** Removes the positions of spools that no process has had since. */
  async forgetSpools(beforeMs: number): Promise<void> {
    const before = new Date(beforeMs).toISOString()
    await this.db.execute(sql`delete from spool_cursors where updated_at < ${before}`)
  }

  /** Number of rows in the default partition. */
  async strayRows(): Promise<number> {
    const [row] = await queryRows<{ stray: number }>(
      this.db,
      sql`select count(*)::float8 as stray from score_blocks_default`,
    )
    return row?.stray ?? 0
  }

  /** Removes the dead rows of all tables, for a database without autovacuum. */
  async vacuum(): Promise<void> {
    const tables = await queryRows<{ name: string }>(
      this.db,
      sql`select relname::text as name from pg_class
        where relnamespace = current_schema()::regnamespace
          and relkind in ('r', 'p') and not relispartition`,
    )
    for (const { name } of tables) {
      await this.db.execute(sql`vacuum (analyze) ${sql.identifier(name)}`)
    }
  }

  private changing<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return withAdvisoryLock(this.db, 'score_log_partitions', async (tx) => {
      await tx.execute(sql.raw(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`))
      return work(tx)
    })
  }

  private async deleteAll(table: string, condition: ReturnType<typeof sql>): Promise<void> {
    const name = sql.identifier(table)
    for (;;) {
      const deleted = await queryRows(
        this.db,
        sql`delete from ${name} where ctid = any(array(
          select ctid from ${name} where ${condition} limit ${DELETED_ROWS_MAX})) returning 1`,
      )
      if (deleted.length < DELETED_ROWS_MAX) return
    }
  }
}

async function partitionNames(db: Database): Promise<string[]> {
  const rows = await queryRows<{ name: string }>(
    db,
    sql`select c.relname::text as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = 'score_blocks'::regclass`,
  )
  return rows.map((row) => row.name).filter((name) => NAME.test(name))
}

function formatName(dayMs: number): string {
  return `score_blocks_p${new Date(dayMs).toISOString().slice(0, 10).replaceAll('-', '')}`
}

function readDay(name: string): number {
  const [, year, month, day] = NAME.exec(name) ?? []
  return Date.parse(`${year}-${month}-${day}T00:00:00Z`)
}
