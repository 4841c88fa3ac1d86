import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { is, sql } from 'drizzle-orm'
import { getTableConfig, PgTable } from 'drizzle-orm/pg-core'
import postgres from 'postgres'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { type DatabaseHandle, queryRows } from '../../../src/platform/db/client.ts'
import { isDatabaseUnavailable, rootCause } from '../../../src/platform/db/errors.ts'
import { openDatabase } from '../../../src/platform/db/open.ts'
import { MIGRATION_LOCK } from '../../../src/platform/db/postgres.ts'
import { auditLog } from '../../../src/tables/audit.ts'
import { teams, users } from '../../../src/tables/auth.ts'
import { databaseUrl, onServer } from '../../support/global-setup.ts'
import { backends, newDataDir } from '../../support/start/databases.ts'
import { ServiceProcess } from '../../support/start/process.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const OWNER = {
  BOOTSTRAP_OWNER_EMAIL: 'owner@lender.example',
  BOOTSTRAP_OWNER_PASSWORD: 'a long enough password',
}

async function open(databaseUrl: string | null, dataDir: string): Promise<DatabaseHandle> {
  const handle = await openDatabase({
    url: databaseUrl,
    directory: join(dataDir, 'postgres'),
    onCrash: (error) => {
      throw error
    },
  })
  onTestFinished(() => handle.close())
  return handle
}

describe.each(backends)('on $name', (backend) => {
  async function openFresh(): Promise<DatabaseHandle> {
    const database = await backend.create()
    onTestFinished(() => database.drop())
    return open(database.databaseUrl, database.dataDir)
  }

  // Migrations are edited by hand where drizzle can't say what is wanted, such as partitions.
  test('the tables have the columns that the code names', async () => {
    const { db } = await openFresh()
    const files = readdirSync(join(ROOT, 'src', 'tables'))
    const modules = await Promise.all(files.map((file) => import(`../../../src/tables/${file}`)))
    const tables = modules
      .flatMap((module) => Object.values(module))
      .filter((one) => is(one, PgTable))
    const inCode = tables.flatMap((table) => {
      const { name, columns } = getTableConfig(table)
      return columns.map((column) => {
        // A serial is an integer with a default.
        const type = column
          .getSQLType()
          .replace(' collate "C"', '')
          .replace(' (', '(')
          .replace('bigserial', 'bigint')
        return `${name}.${column.name} ${type}${column.notNull ? ' not null' : ''}`
      })
    })
    const rows = await queryRows<{ text: string }>(
      db,
      sql`select c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
          || case when a.attnotnull then ' not null' else '' end as text
        from pg_attribute a join pg_class c on c.oid = a.attrelid
        where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
          and not c.relispartition and a.attnum > 0 and not a.attisdropped`,
    )
    expect(rows.map((row) => row.text).sort()).toEqual(inCode.sort())
    const [log] = await queryRows<{ definition: string }>(
      db,
      sql`select pg_get_partkeydef('score_blocks'::regclass) as definition`,
    )
    expect(log?.definition).toBe('RANGE (first_at)')
  })

  test('a record of the audit log can be neither altered nor removed', async () => {
    const { db } = await openFresh()
    const createdAt = new Date()
    await db.insert(teams).values({ id: 'team_1', name: 'Team', createdAt })
    const record = { id: 'aud_1', teamId: 'team_1', actor: 'usr_1', action: 'x', subject: 's' }
    await db.insert(auditLog).values({ ...record, createdAt })

    await expect(refusal(db.update(auditLog).set({ actor: 'usr_2' }))).resolves.toBe('23001')
    await expect(refusal(db.delete(auditLog))).resolves.toBe('23001')
    await expect(refusal(db.execute(sql`truncate audit_log`))).resolves.toBe('23001')
    expect((await db.select().from(auditLog)).length).toBe(1)
  })

  test('a failed transaction leaves nothing, and its error names the constraint by code', async () => {
    const { db } = await openFresh()
    const team = { id: 'team_1', name: 'Team', createdAt: new Date() }
    const twice = db.transaction(async (tx) => {
      await tx.insert(teams).values(team)
      await tx.insert(teams).values(team)
    })
    await expect(refusal(twice)).resolves.toBe('23505')
    expect(await db.select().from(teams)).toEqual([])
  })
})

// The migrations are what the tables were when they were written; a table changed alone is a table
// that no deployment has.
test('the migrations make the tables that the code describes', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'scoreline-migrations-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const committed = join(ROOT, 'drizzle', 'migrations')
  cpSync(committed, folder, { recursive: true })
  const generate = join(ROOT, 'node_modules', 'drizzle-kit', 'bin.cjs')
  const out = relative(ROOT, folder)
  await promisify(execFile)(
    process.execPath,
    [generate, 'generate', '--dialect', 'postgresql', '--schema', 'src/tables/*.ts', '--out', out],
    { cwd: ROOT },
  )
  expect(readdirSync(folder)).toEqual(readdirSync(committed))
})

describe.skipIf(inject('postgresTemplate') === null)('on PostgreSQL', () => {
  async function emptyDatabase(): Promise<string> {
    const { serverUrl } = inject('postgresTemplate') ?? { serverUrl: '' }
    const name = `scoreline_test_${randomBytes(6).toString('hex')}`
    await onServer(serverUrl, `create database ${name}`)
    onTestFinished(() => onServer(serverUrl, `drop database ${name} with (force)`))
    return databaseUrl(serverUrl, name)
  }

  // Replicas start together at each deployment of a new version.
  test('replicas that start together on an empty database migrate once and make one owner', async () => {
    const url = await emptyDatabase()
    const env = { DATABASE_URL: url, JWT_SECRET: 'x'.repeat(32), ...OWNER }
    const replicas = Array.from({ length: 4 }, () =>
      ServiceProcess.start({ ...env, DATA_DIR: newDataDir() }),
    )
    onTestFinished(async () => {
      await Promise.all(replicas.map((replica) => replica.stop('SIGKILL')))
    })
    await Promise.all(replicas.map((replica) => replica.url()))
    const { db } = await open(url, newDataDir())
    expect((await db.select().from(users)).length).toBe(1)
    const created = replicas.filter((replica) => replica.output.includes('Created the owner'))
    expect(created.length).toBe(1)
    const applied = await db.execute(sql`select hash from drizzle.__drizzle_migrations`)
    const hashes = [...(applied as unknown as { hash: string }[])].map((row) => row.hash)
    expect(new Set(hashes).size).toBe(hashes.length)
  })

  // Behind a pool of transactions a lock of the session stays with whoever comes next, for ever.
  test('on a database that is up to date a start waits for no lock and takes none', async () => {
    const url = await emptyDatabase()
    const holder = postgres(url, { max: 1, onnotice: () => undefined })
    onTestFinished(() => holder.end())
    const first = await open(url, newDataDir())
    await first.close()
    await holder`select pg_advisory_lock(${MIGRATION_LOCK})`
    const second = await open(url, newDataDir())
    await second.close()
    const locks = await holder`select 1 from pg_locks where locktype = 'advisory' and database =
      (select oid from pg_database where datname = current_database())`
    expect(locks).toHaveLength(1)
  })

  test('a start without a reachable server fails with a sentence and without the password', async () => {
    const service = ServiceProcess.start({
      DATABASE_URL: 'postgres://user:hush-hush@127.0.0.1:1/scoreline',
      JWT_SECRET: 'x'.repeat(32),
      DATA_DIR: newDataDir(),
    })
    expect(await service.exit()).toBe(1)
    expect(service.output).toContain('ECONNREFUSED')
    expect(service.output).not.toContain('hush-hush')
  })
})

test('a lost connection is distinguished from a fault of the statement', () => {
  const failed = (code: string) =>
    new Error('Failed query', { cause: Object.assign(new Error('…'), { code }) })
  expect(isDatabaseUnavailable(failed('ECONNREFUSED'))).toBe(true)
  expect(isDatabaseUnavailable(failed('EPIPE'))).toBe(true)
  expect(isDatabaseUnavailable(failed('57P01'))).toBe(true)
  expect(isDatabaseUnavailable(failed('53300'))).toBe(true)
  expect(isDatabaseUnavailable(failed('23505'))).toBe(false)
  expect(isDatabaseUnavailable(new TypeError('x'))).toBe(false)
})

/** PostgreSQL's code of the error that a statement fails with. */
async function refusal(statement: PromiseLike<unknown>): Promise<unknown> {
  try {
    await statement
  } catch (error) {
    return (rootCause(error) as { code?: unknown }).code
  }
  return 'was carried out'
}
