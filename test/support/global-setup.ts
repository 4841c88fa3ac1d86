import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import type { TestProject } from 'vitest/node'
import { openDatabase } from '../../src/db/client.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Directory of a migrated embedded database, to be copied. */
    embeddedTemplate: string
    /** Server and migrated database to clone; null where no PostgreSQL was named. */
    postgresTemplate: { serverUrl: string; database: string } | null
    /** Server for tests that need nothing but its answers; null where no Redis was named. */
    redisUrl: string | null
  }
}

/** Makes one migrated database of each kind, from which each test file gets a copy of its own. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const serverUrl = process.env['TEST_DATABASE_URL']
  if (serverUrl === undefined && process.env['CI'] !== undefined) {
    throw new Error('TEST_DATABASE_URL must name a PostgreSQL server where CI is set')
  }
  const redisUrl = process.env['TEST_REDIS_URL']
  if (redisUrl === undefined && process.env['CI'] !== undefined) {
    throw new Error('TEST_REDIS_URL must name a Redis server where CI is set')
  }
  project.provide('redisUrl', redisUrl ?? null)
  const directory = mkdtempSync(join(tmpdir(), 'scoreline-template-'))
  const embeddedTemplate = join(directory, 'postgres')
  const refuse = (error: Error) => {
    throw error
  }
  const embedded = await openDatabase({ url: null, directory: embeddedTemplate, onCrash: refuse })
  await embedded.close()
  project.provide('embeddedTemplate', embeddedTemplate)

  const database = `scoreline_template_${randomBytes(6).toString('hex')}`
  if (serverUrl === undefined) {
    project.provide('postgresTemplate', null)
  } else {
    await onServer(serverUrl, `create database ${database}`)
    const url = databaseUrl(serverUrl, database)
    const template = await openDatabase({ url, directory, onCrash: refuse })
    await template.close()
    project.provide('postgresTemplate', { serverUrl, database })
  }
  return async () => {
    if (serverUrl !== undefined) await onServer(serverUrl, `drop database ${database} with (force)`)
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Runs one statement on the server that the tests were given. */
export async function onServer(serverUrl: string, statement: string): Promise<void> {
  const client = postgres(serverUrl, { max: 1, onnotice: () => {} })
  try {
    await client.unsafe(statement)
  } finally {
    await client.end()
  }
}

/** URL of another database on the same server. */
export function databaseUrl(serverUrl: string, database: string): string {
  const url = new URL(serverUrl)
  url.pathname = `/${database}`
  return url.href
}
