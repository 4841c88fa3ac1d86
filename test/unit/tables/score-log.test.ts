import { readdirSync, readFileSync } from 'node:fs'
import { getTableColumns, getTableName } from 'drizzle-orm'
import { PgDialect } from 'drizzle-orm/pg-core'
import { describe, expect, test } from 'vitest'
import { ROLLUP_COLUMNS } from '../../../src/log/rollups/rollup.ts'
import {
  scoreArchive,
  scoreArchiveBlocks,
  scoreArchiveFiles,
} from '../../../src/tables/score-archive.ts'
import {
  logErasures,
  logTreeNodes,
  logTrees,
  scoreBlocks,
  scoreKeys,
  scoreRollups,
  scoreSums,
  spoolCursors,
} from '../../../src/tables/score-log.ts'

const SRC = new URL('../../../src/', import.meta.url)
/** Folders that read and write both tables in SQL of their own. drizzle checks none of it. */
const FOLDERS = ['log', 'reports/stats']

/** Names of PostgreSQL, of other tables, and of the partitions of the log. */
const NOT_COLUMNS = [
  'pg_class',
  'pg_inherits',
  'lock_timeout',
  'block_size',
  'idle_in_transaction_session_timeout',
  'api_keys',
  'refresh_tokens',
  'score_blocks_default',
  'score_blocks_p',
  'score_log_partitions',
]

const TABLES = [
  scoreRollups,
  scoreBlocks,
  scoreSums,
  spoolCursors,
  scoreKeys,
  logTreeNodes,
  scoreArchive,
  scoreArchiveFiles,
  scoreArchiveBlocks,
] as const

const readColumns = (table: (typeof TABLES)[number] | typeof logErasures | typeof logTrees) =>
  Object.values(getTableColumns(table)).map(({ name }) => name)

/** The code that holds SQL, without its comments. */
const code = FOLDERS.flatMap((folder) =>
  readdirSync(new URL(`${folder}/`, SRC), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(new URL(`${folder}/${file}`, SRC), 'utf8'))
    .filter((text) => text.includes('sql`')),
)
  .join('\n')
  .replace(/\/\*\*?[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')

describe.each(TABLES)('the raw SQL on %#', (table) => {
  const name = getTableName(table)

  // A column that the insert leaves out fails, or stays at its default without a word.
  test('inserts every column of the table', () => {
    const inserts = [
      ...code.matchAll(new RegExp(`insert into ${name}(?: as \\w+)? \\(([^)]+)\\)`, 'g')),
    ]
    expect(inserts.length).toBeGreaterThan(0)
    for (const [, list = ''] of inserts) {
      expect(
        list
          .split(',')
          .map((column) => column.trim().replaceAll('"', ''))
          .sort(),
      ).toEqual(readColumns(table).sort())
    }
  })
})

test('the columns that rollups are read by are those of the table', () => {
  const { sql } = new PgDialect().sqlToQuery(ROLLUP_COLUMNS)
  const words = new Set(sql.match(/\w+/g))
  expect(readColumns(scoreRollups).filter((column) => !words.has(column))).toEqual([])
})

// The code is camelCase, so that a word with an underscore is a name of SQL.
test('every name in the raw SQL is a column, or is introduced by the SQL itself', () => {
  const introduced = [...code.matchAll(/\bas \w+\(([\w, ]+)\)|\bas (\w+)|\b(\w+) as \(/g)].flatMap(
    ([, list = '', alias = '', query = '']) => [...list.split(/, /), alias, query],
  )
  const known = new Set([
    ...[...TABLES, logErasures, logTrees].flatMap((table) => [
      getTableName(table),
      ...readColumns(table),
    ]),
    ...introduced,
    ...NOT_COLUMNS,
  ])
  // A name before a parenthesis is a function.
  const names = new Set(code.match(/\b[a-z]+(?:_[a-z]+)+\b(?!\()/g))
  expect(names.size).toBeGreaterThan(readColumns(scoreBlocks).length)
  expect([...names].filter((name) => !known.has(name))).toEqual([])
})
