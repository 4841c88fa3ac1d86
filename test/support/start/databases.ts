import { randomBytes } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { inject } from 'vitest'
import { databaseUrl, onServer } from '../global-setup.ts'
import { dataRoot } from './data-root.ts'

/** A database of the test's own, and the directory that goes with it. */
export interface TestDatabase {
  /** As in the configuration: null is the embedded one. */
  readonly databaseUrl: string | null
  readonly dataDir: string
  drop(): Promise<void>
}

/** A kind of database that everything is tested on. */
export interface Backend {
  readonly name: 'PGlite' | 'PostgreSQL'
  create(): Promise<TestDatabase>
}

const embedded: Backend = {
  name: 'PGlite',
  create: async () => {
    const dataDir = embeddedDataDir()
    return { databaseUrl: null, dataDir, drop: async () => removeDir(dataDir) }
  },
}

/** A server that others reach too. Only where `hasPostgres` says so. */
export const postgres: Backend = {
  name: 'PostgreSQL',
  create: async () => {
    const template = inject('postgresTemplate')
    if (template === null) throw new Error('no PostgreSQL server was named')
    const { serverUrl } = template
    const dataDir = newDataDir()
    const database = `scoreline_test_${randomBytes(6).toString('hex')}`
    await onServer(serverUrl, `create database ${database} template ${template.database}`)
    return {
      databaseUrl: databaseUrl(serverUrl, database),
      dataDir,
      drop: async () => {
        await onServer(serverUrl, `drop database ${database} with (force)`)
        removeDir(dataDir)
      },
    }
  },
}

/** Whether the run names a PostgreSQL; under CI it must. */
export const hasPostgres = inject('postgresTemplate') !== null

/**
 * PGlite, and PostgreSQL where `TEST_DATABASE_URL` names a server. `TEST_BACKENDS=PostgreSQL`
 * leaves PGlite to a run of its own.
 */
export const backends: readonly Backend[] = chosenBackends(process.env['TEST_BACKENDS'])

/** For a test of one kind: the embedded database, unless it is left to another run. */
export const [firstBackend = embedded] = backends
/** PostgreSQL, where a server is named. */
export const lastBackend = backends.at(-1) ?? embedded

function chosenBackends(name: string | undefined): readonly Backend[] {
  if (name !== undefined && (name !== postgres.name || !hasPostgres)) {
    throw new Error(`TEST_BACKENDS must be ${postgres.name}, with TEST_DATABASE_URL`)
  }
  if (name !== undefined) return [postgres]
  return hasPostgres ? [embedded, postgres] : [embedded]
}

/** A data directory whose embedded database is made and migrated, and holds nothing. */
export function embeddedDataDir(): string {
  const dataDir = newDataDir()
  cpSync(inject('embeddedTemplate'), join(dataDir, 'postgres'), { recursive: true })
  return dataDir
}

/** An empty data directory. */
export function newDataDir(): string {
  const parent = mkdtempSync(join(dataRoot(), 'scoreline-test-'))
  const dataDir = join(parent, 'data')
  mkdirSync(dataDir)
  return dataDir
}

function removeDir(dataDir: string): void {
  rmSync(join(dataDir, '..'), { recursive: true, force: true })
}
