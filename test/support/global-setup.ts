import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import postgres from 'postgres'
import type { TestProject } from 'vitest/node'
import { openDatabase } from '../../src/platform/db/open.ts'
import { dataRoot } from './start/data-root.ts'

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

interface Templates {
  readonly embeddedTemplate: string
  readonly postgresTemplate: { readonly serverUrl: string; readonly database: string } | null
  remove(): Promise<void>
}

/** All projects of a run share it: making it takes seconds. */
let templates: Promise<Templates> | null = null
let projects = 0

/** Makes one migrated database of each kind, from which each test file gets a copy of its own. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const redisUrl = makeServer('TEST_REDIS_URL', 'Redis')
  const serverUrl = makeServer('TEST_DATABASE_URL', 'PostgreSQL')
  projects++
  templates ??= makeTemplates(serverUrl)
  const { embeddedTemplate, postgresTemplate, remove } = await templates
  project.provide('redisUrl', redisUrl)
  project.provide('embeddedTemplate', embeddedTemplate)
  project.provide('postgresTemplate', postgresTemplate)
  return async () => {
    if (--projects === 0) await remove()
  }
}

/** @throws Error under CI, which leaves no test out */
function makeServer(variable: string, kind: string): string | null {
  const url = process.env[variable]
  if (url === undefined && process.env['CI'] !== undefined) {
    throw new Error(`${variable} must name a ${kind} server where CI is set`)
  }
  return url ?? null
}

async function makeTemplates(serverUrl: string | null): Promise<Templates> {
  const directory = mkdtempSync(join(dataRoot(), 'scoreline-template-'))
  const embeddedTemplate = join(directory, 'postgres')
  const onCrash = (error: Error) => {
    throw error
  }
  const embedded = await openDatabase({ url: null, directory: embeddedTemplate, onCrash })
  await embedded.close()
  const removeDirectory = () => rmSync(directory, { recursive: true, force: true })
  if (serverUrl === null) {
    return { embeddedTemplate, postgresTemplate: null, remove: async () => removeDirectory() }
  }
  const database = `scoreline_template_${randomBytes(6).toString('hex')}`
  await onServer(serverUrl, `create database ${database}`)
  const url = databaseUrl(serverUrl, database)
  const template = await openDatabase({ url, directory, onCrash })
  await template.close()
  return {
    embeddedTemplate,
    postgresTemplate: { serverUrl, database },
    remove: async () => {
      await onServer(serverUrl, `drop database ${database} with (force)`)
      removeDirectory()
    },
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
