import { type SQL, sql } from 'drizzle-orm'
import { type Database, rowsOf, type Transaction } from '../../platform/db/client.ts'
import { withAdvisoryLock } from '../../platform/db/transactions.ts'
import { SPAN_MS } from '../../rollups/spans.ts'
import type { LogTables } from './partition-maintenance.ts'

/** A statement that waits for a lock blocks all later ones: it fails and is tried again later. */
const LOCK_TIMEOUT_MS = 3_000
/** Most rows that one statement deletes, so that it ends soon. */
const DELETED_ROWS_MAX = 10_000
/** The tables and the columns that they are partitioned by. */
const TABLES = [
  { table: 'score_log', moment: 'scored_at' },
  { table: 'score_blocks', moment: 'first_at' },
] as const
const LOG_TABLES = ['score_rollups', 'score_sums', 'score_blocks', 'spool_cursors']
/** Tables with rows that are often written again. */
const OTHER_TABLES = ['api_keys', 'refresh_tokens', 'log_trees', 'log_tree_nodes', 'jobs']
type LogTable = (typeof TABLES)[number]
const NAME = /_p(\d{4})(\d{2})(\d{2})$/

/**
 * The partitions of the score log, in both of its forms. A partition holds the requests of one day
 * in UTC and has a name such as `score_blocks_p20261121`. Rows without such a partition are in
 * `score_blocks_default`.
 *
 * One replica at a time changes them. A new partition is created as a table and then attached, so
 * that reads and writes go on. Dropping a partition locks the log briefly.
 */
export class PostgresLogTables implements LogTables {
  private readonly db: Database

  constructor(db: Database) {
    this.db = db
  }

  async makePartitions(dayStartsMs: readonly number[]): Promise<string[]> {
    const made: string[] = []
    for (const of of TABLES) made.push(...(await this.makePartitionsOf(of, dayStartsMs)))
    return made
  }

  private makePartitionsOf(of: LogTable, dayStartsMs: readonly number[]): Promise<string[]> {
    return this.changing(async (tx) => {
      const present = new Set(await partitionNames(tx, of))
      const missing = dayStartsMs.filter((dayMs) => !present.has(nameOf(of, dayMs)))
      if (missing.length === 0) return []
      // First: without this lock, rows of the day could be written to it during the move.
      await tx.execute(sql`lock table ${defaultOf(of)} in access exclusive mode`)
      for (const dayMs of missing) await makePartition(tx, of, dayMs)
      return missing.map((dayMs) => nameOf(of, dayMs))
    })
  }

  async dropBefore(dayStartMs: number): Promise<string[]> {
    const dropped: string[] = []
    const before = new Date(dayStartMs).toISOString()
    for (const of of TABLES) {
      const names = await partitionNames(this.db, of)
      const old = names.filter((name) => dayOf(name) < dayStartMs)
      for (const name of old) {
        await this.changing((tx) => tx.execute(sql`drop table if exists ${sql.identifier(name)}`))
      }
      dropped.push(...old)
      await this.deleteAll(`${of.table}_default`, sql`${sql.identifier(of.moment)} < ${before}`)
    }
    await this.deleteAll('score_rollups', sql`starts_at < ${before}`)
    await this.deleteAll('score_sums', sql`first_at < ${before}`)
    return dropped
  }

  async forgetSpools(beforeMs: number): Promise<void> {
    const before = new Date(beforeMs).toISOString()
    await this.db.execute(sql`delete from spool_cursors where updated_at < ${before}`)
  }

  async strayRows(): Promise<number> {
    const [row] = await rowsOf<{ stray: number }>(
      this.db,
      sql`select ((select count(*) from score_log_default)
        + (select count(*) from score_blocks_default))::float8 as stray`,
    )
    return row?.stray ?? 0
  }

  async vacuum(): Promise<void> {
    for (const table of [...LOG_TABLES, ...OTHER_TABLES]) {
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

async function partitionNames(db: Database, { table }: LogTable): Promise<string[]> {
  const rows = await rowsOf<{ name: string }>(
    db,
    sql`select c.relname::text as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = ${table}::text::regclass`,
  )
  return rows.map((row) => row.name).filter((name) => NAME.test(name))
}

async function makePartition(tx: Transaction, of: LogTable, dayMs: number): Promise<void> {
  const name = sql.identifier(nameOf(of, dayMs))
  const table = sql.identifier(of.table)
  const moment = sql.identifier(of.moment)
  const [from, to] = [dayMs, dayMs + SPAN_MS.day].map((ms) => new Date(ms).toISOString())
  await tx.execute(sql`create table ${name} (like ${table} including all)`)
  await tx.execute(sql`with moved as (delete from ${defaultOf(of)}
      where ${moment} >= ${from} and ${moment} < ${to} returning *)
    insert into ${name} select * from moved`)
  // PostgreSQL accepts no parameters in this statement.
  const bounds = sql.raw(`from ('${from}') to ('${to}')`)
  await tx.execute(sql`alter table ${table} attach partition ${name} for values ${bounds}`)
}

function defaultOf({ table }: LogTable): SQL {
  return sql`${sql.identifier(`${table}_default`)}`
}

function nameOf({ table }: LogTable, dayMs: number): string {
  return `${table}_p${new Date(dayMs).toISOString().slice(0, 10).replaceAll('-', '')}`
}

function dayOf(name: string): number {
  const [, year, month, day] = NAME.exec(name) ?? []
  return Date.parse(`${year}-${month}-${day}T00:00:00Z`)
}
