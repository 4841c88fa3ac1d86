import { sql } from 'drizzle-orm'
import { type Database, rowsOf, type Transaction } from '../db/client.ts'
import { withAdvisoryLock } from '../db/transactions.ts'
import { SPAN_MS } from './spans.ts'
import type { LogTables } from './upkeep.ts'

/** Who waits for a table makes those behind it wait: better to try again later. */
const LOCK_TIMEOUT_MS = 3_000
/** Rows that one statement deletes, so that it ends soon. */
const DELETED_ROWS_MAX = 10_000
const NAME = /^score_log_p(\d{4})(\d{2})(\d{2})$/

/**
 * The tables of the score log as time passes over them. A partition holds the requests of one day in UTC and
 * is called `score_log_p20261121`; what has no such partition is in `score_log_default`.
 *
 * One replica at a time changes them. New partitions are made aside and then attached, which lets reading
 * and writing go on; dropping one locks the log for the moment that it takes.
 */
export class PostgresLogTables implements LogTables {
  private readonly db: Database

  constructor(db: Database) {
    this.db = db
  }

  makePartitions(dayStartsMs: readonly number[]): Promise<string[]> {
    return this.changing(async (tx) => {
      const present = new Set(await partitionNames(tx))
      const missing = dayStartsMs.filter((dayMs) => !present.has(nameOf(dayMs)))
      if (missing.length === 0) return []
      // Before anything else: rows would else be written to it while those of the day are moved.
      await tx.execute(sql`lock table score_log_default in access exclusive mode`)
      for (const dayMs of missing) await makePartition(tx, dayMs)
      return missing.map(nameOf)
    })
  }

  async dropBefore(dayStartMs: number): Promise<string[]> {
    const names = await partitionNames(this.db)
    const old = names.filter((name) => dayOf(name) < dayStartMs)
    for (const name of old) {
      await this.changing((tx) => tx.execute(sql`drop table if exists ${sql.identifier(name)}`))
    }
    const before = new Date(dayStartMs).toISOString()
    await this.deleteAll('score_log_default', sql`scored_at < ${before}`)
    await this.deleteAll('score_rollups', sql`starts_at < ${before}`)
    return old
  }

  async strayRows(): Promise<number> {
    const [row] = await rowsOf<{ stray: number }>(
      this.db,
      sql`select count(*)::float8 as stray from score_log_default`,
    )
    return row?.stray ?? 0
  }

  async vacuum(): Promise<void> {
    for (const table of ['score_rollups', 'api_keys', 'refresh_tokens']) {
      await this.db.execute(sql`vacuum (analyze) ${sql.identifier(table)}`)
    }
    await this.db.execute(sql`analyze score_log`)
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
      const deleted = await rowsOf(
        this.db,
        sql`delete from ${name} where ctid = any(array(
          select ctid from ${name} where ${condition} limit ${DELETED_ROWS_MAX})) returning 1`,
      )
      if (deleted.length < DELETED_ROWS_MAX) return
    }
  }
}

async function partitionNames(db: Database): Promise<string[]> {
  const rows = await rowsOf<{ name: string }>(
    db,
    sql`select c.relname::text as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = 'score_log'::regclass`,
  )
  return rows.map((row) => row.name).filter((name) => NAME.test(name))
}

async function makePartition(tx: Transaction, dayMs: number): Promise<void> {
  const name = sql.identifier(nameOf(dayMs))
  const [from, to] = [dayMs, dayMs + SPAN_MS.day].map((ms) => new Date(ms).toISOString())
  await tx.execute(sql`create table ${name} (like score_log including all)`)
  await tx.execute(sql`with moved as (delete from score_log_default
      where scored_at >= ${from} and scored_at < ${to} returning *)
    insert into ${name} select * from moved`)
  // A statement of this kind takes no parameters.
  const bounds = sql.raw(`from ('${from}') to ('${to}')`)
  await tx.execute(sql`alter table score_log attach partition ${name} for values ${bounds}`)
}

function nameOf(dayMs: number): string {
  return `score_log_p${new Date(dayMs).toISOString().slice(0, 10).replaceAll('-', '')}`
}

function dayOf(name: string): number {
  const [, year, month, day] = NAME.exec(name) ?? []
  return Date.parse(`${year}-${month}-${day}T00:00:00Z`)
}
