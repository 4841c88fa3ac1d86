import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { type DatabaseHandle, openDatabase } from '../../src/db/client.ts'

export interface BenchDatabase extends DatabaseHandle {
  readonly name: 'PostgreSQL' | 'PGlite'
}

/** A database of the bench's own, migrated; on the server of `BENCH_DATABASE_URL` where one is wanted. */
export async function openBenchDatabase(serverUrl: string | null): Promise<BenchDatabase> {
  const directory = mkdtempSync(join(tmpdir(), 'scoreline-bench-'))
  const onCrash = (error: Error) => {
    throw error
  }
  const database = `scoreline_bench_${randomBytes(6).toString('hex')}`
  const url = serverUrl === null ? null : new URL(serverUrl)
  if (serverUrl !== null) await onServer(serverUrl, `create database ${database}`)
  if (url !== null) url.pathname = `/${database}`
  const handle = await openDatabase({ url: url?.href ?? null, directory, onCrash })
  return {
    ...handle,
    name: url === null ? 'PGlite' : 'PostgreSQL',
    close: async () => {
      await handle.close()
      if (serverUrl !== null) await onServer(serverUrl, `drop database ${database} with (force)`)
      rmSync(directory, { recursive: true, force: true })
    },
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

export function percentile(values: readonly number[], share: number): number {
  const rising = values.toSorted((a, b) => a - b)
  return rising[Math.floor(share * (rising.length - 1))] ?? Number.NaN
}
