import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import type { DatabaseHandle } from '../../src/platform/db/client.ts'
import { openDatabase } from '../../src/platform/db/open.ts'

export interface BenchDatabase extends DatabaseHandle {
  readonly name: 'PostgreSQL' | 'PGlite'
}

/**
 * A database of the bench's own, migrated; on the server of `BENCH_DATABASE_URL` where one is
 * wanted.
 */
export async function openBenchDatabase(serverUrl: string | null): Promise<BenchDatabase> {
  const directory = mkdtempSync(join(tmpdir(), 'scoreline-bench-'))
  const onCrash = (error: Error) => {
    throw error
  }
  const created = serverUrl === null ? null : await createBenchDatabase(serverUrl)
  const handle = await openDatabase({ url: created?.url ?? null, directory, onCrash })
  return {
    ...handle,
    name: created === null ? 'PGlite' : 'PostgreSQL',
    close: async () => {
      await handle.close()
      await created?.drop()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** An empty database on a server. */
export async function createBenchDatabase(
  serverUrl: string,
): Promise<{ readonly url: string; drop(): Promise<void> }> {
  const database = `scoreline_bench_${randomBytes(6).toString('hex')}`
  const url = new URL(serverUrl)
  url.pathname = `/${database}`
  await onServer(serverUrl, `create database ${database}`)
  return {
    url: url.href,
    drop: () => onServer(serverUrl, `drop database ${database} with (force)`),
  }
}

async function onServer(serverUrl: string, statement: string): Promise<void> {
  const client = postgres(serverUrl, { max: 1, onnotice: () => undefined })
  try {
    await client.unsafe(statement)
  } finally {
    await client.end()
  }
}
