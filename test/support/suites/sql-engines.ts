import { DOUBLE, DuckDBInstance, VARCHAR } from '@duckdb/node-api'
import { PGlite } from '@electric-sql/pglite'
import postgres from 'postgres'
import type { DialectName } from '../../../src/cards/export/sql/dialects.ts'

/** What a column of a table of applicants holds. */
export interface TableColumn {
  readonly name: string
  readonly type: 'number' | 'text'
}

export type Cell = number | string | null
/** By the name of the column, as a driver reads it; doubles to the bit. */
export type AnswerRow = Readonly<Record<string, Cell>>

/** A database that runs exported SQL. */
export interface SqlEngine {
  readonly dialect: DialectName
  /** Makes the table `applicants` anew; its rows go in as parameters, past any quoting. */
  fill(columns: readonly TableColumn[], rows: ReadonlyArray<readonly Cell[]>): Promise<void>
  query(sql: string): Promise<AnswerRow[]>
  close(): Promise<void>
}

const ROWS_PER_INSERT = 20_000

type Run = (sql: string, parameters: unknown[]) => Promise<AnswerRow[]>

/** PostgreSQL in process. */
export async function openPglite(): Promise<SqlEngine> {
  const database = await PGlite.create()
  const run: Run = async (sql, parameters) =>
    (await database.query<AnswerRow>(sql, parameters)).rows
  return postgresqlEngine(run, () => database.close())
}

/** The PostgreSQL at this URL, in a session whose tables nobody else sees. */
export async function openPostgres(url: string): Promise<SqlEngine> {
  const client = postgres(url, { max: 1, onnotice: () => {} })
  const run: Run = async (sql, parameters) => [
    ...(await client.unsafe<AnswerRow[]>(sql, parameters as string[][])),
  ]
  return postgresqlEngine(run, () => client.end())
}

function postgresqlEngine(run: Run, close: () => Promise<void>): SqlEngine {
  return {
    dialect: 'postgresql',
    close,
    query: (sql) => run(sql, []),
    fill: async (columns, rows) => {
      const types = columns.map(({ type }) => (type === 'number' ? 'float8' : 'text'))
      const named = columns.map(({ name }, at) => `${quoted(name)} ${types[at]}`)
      await run('drop table if exists pg_temp.applicants', [])
      await run(`create temporary table applicants (${named})`, [])
      const arrays = types.map((type, at) => `$${at + 1}::text[]::${type}[]`)
      for (let from = 0; from < rows.length; from += ROWS_PER_INSERT) {
        const some = rows.slice(from, from + ROWS_PER_INSERT)
        const values = columns.map((_, at) => some.map((row) => formatText(row[at] ?? null)))
        await run(`insert into applicants select * from unnest(${arrays})`, values)
      }
    },
  }
}

/** The text that PostgreSQL reads as this value. */
function formatText(cell: Cell): string | null {
  return Object.is(cell, -0) ? '-0' : cell === null ? null : String(cell)
}

/** DuckDB in process. */
export async function openDuckdb(): Promise<SqlEngine> {
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  return {
    dialect: 'duckdb',
    close: async () => {
      connection.closeSync()
      instance.closeSync()
    },
    query: async (sql) => {
      const rows = (await connection.runAndReadAll(sql)).getRowObjectsJS()
      // The statements that tests run answer with doubles and texts.
      return rows as unknown as AnswerRow[]
    },
    fill: async (columns, rows) => {
      const types = columns.map(({ type }) => (type === 'number' ? DOUBLE : VARCHAR))
      const named = columns.map(({ name }, at) => `${quoted(name)} ${types[at]}`)
      await connection.run(`create or replace table applicants (${named})`)
      const appender = await connection.createAppender('applicants')
      for (const row of rows) {
        for (const cell of row) {
          if (cell === null) appender.appendNull()
          else if (typeof cell === 'number') appender.appendDouble(cell)
          else appender.appendVarchar(cell)
        }
        appender.endRow()
      }
      appender.closeSync()
    },
  }
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
