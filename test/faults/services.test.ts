import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import postgres from 'postgres'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { type Config, loadConfig } from '../../src/config.ts'
import { openDataDir } from '../../src/platform/data-dir/data-dir.ts'
import { createLog } from '../../src/platform/log.ts'
import { createServices } from '../../src/services.ts'
import { backends, type TestDatabase } from '../support/start/databases.ts'

const log = createLog('silent')

function makeConfig({ databaseUrl, dataDir }: TestDatabase): Config {
  return loadConfig({
    DATA_DIR: dataDir,
    DATABASE_URL: databaseUrl ?? undefined,
    JWT_SECRET: 'secret of the tests, long enough',
  })
}

/** The configuration, which throws when `name` is read for the `nth` time. */
function failingAt(config: Config, name: keyof Config, nth: number): Config {
  let reads = 0
  return Object.defineProperty({ ...config }, name, {
    get: () => {
      if (++reads === nth) throw new Error(`${name} failed`)
      return config[name]
    },
  })
}

function open(config: Config) {
  return createServices(config, {
    log,
    onCrash: (error) => {
      throw error
    },
  })
}

/** Threads, sockets and files that keep the process alive; not timers, which vitest has too. */
function openHandles(): string[] {
  return process
    .getActiveResourcesInfo()
    .filter((name) => /MessagePort|Worker|TCP|FSReqCallback/.test(name))
    .toSorted()
}

/** What is left of a list when each of the others is taken from it once. */
function without(all: readonly string[], others: readonly string[]): string[] {
  const left = [...all]
  for (const other of others) {
    const at = left.indexOf(other)
    if (at >= 0) left.splice(at, 1)
  }
  return left
}

async function connectionsTo(databaseUrl: string): Promise<number> {
  const { serverUrl } = inject('postgresTemplate') ?? { serverUrl: '' }
  const client = postgres(serverUrl, { max: 1 })
  const name = new URL(databaseUrl).pathname.slice(1)
  const rows = await client`select pid from pg_stat_activity where datname = ${name}`
  await client.end()
  return rows.length
}

/** Directories of processes that are still in the spool. */
function spoolsIn({ dataDir }: TestDatabase): string[] {
  try {
    const entries = readdirSync(join(dataDir, 'spool'), { withFileTypes: true })
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
  } catch {
    return []
  }
}

interface Opening {
  readonly part: string
  /** Makes the opening fail; `undo` removes the reason. */
  readonly arrange: (
    config: Config,
    database: TestDatabase,
  ) => Promise<{ config: Config; undo: () => void }>
}

const byConfig = (part: string, name: keyof Config, nth: number): Opening => ({
  part,
  arrange: async (config) => ({ config: failingAt(config, name, nth), undo: () => undefined }),
})

const OPENINGS: readonly Opening[] = [
  {
    part: 'the data directory',
    arrange: async (config, { dataDir }) => {
      const holder = await openDataDir(dataDir)
      return { config, undo: () => holder.close() }
    },
  },
  byConfig('the database', 'databaseUrl', 1),
  byConfig('the connections to Redis', 'redisUrl', 1),
  byConfig('the score log', 'scoreLogDurability', 1),
  {
    part: 'the spool',
    arrange: async (config, { dataDir }) => {
      const file = join(dataDir, 'spool')
      mkdirSync(dataDir, { recursive: true })
      writeFileSync(file, 'not a directory')
      return { config, undo: () => rmSync(file) }
    },
  },
  byConfig('the wiring of the domains, after all threads', 'specCacheTtlMs', 1),
]

describe.each(backends)('on $name', (backend) => {
  // A start that is tried again in the same process finds its own lock; a leaked connection
  // outlives it.
  test.each(OPENINGS)('a start that fails at $part leaves nothing open', async ({ arrange }) => {
    const database = await backend.create()
    onTestFinished(() => database.drop())
    const whole = makeConfig(database)
    const before = openHandles()
    const { config, undo } = await arrange(whole, database)

    await expect(open(config)).rejects.toThrow()

    undo()
    await expect.poll(() => without(openHandles(), before)).toEqual([])
    if (database.databaseUrl !== null) {
      const { databaseUrl } = database
      await expect.poll(() => connectionsTo(databaseUrl)).toBe(0)
    }
    expect(spoolsIn(database)).toEqual([])
    const second = await open(whole)
    await second.close()
  })
})

test('every caller of close awaits the same shutdown', async () => {
  const [backend] = backends
  if (backend === undefined) throw new Error('there is no database to test on')
  const database = await backend.create()
  onTestFinished(() => database.drop())
  const services = await open(makeConfig(database))
  const closing = services.close()
  expect(services.close()).toBe(closing)
  await closing
  const dataDir = await openDataDir(database.dataDir)
  dataDir.close()
})
