import { expect } from 'vitest'
import { makeReport } from '../../../src/cli/admin.ts'
import type { Report } from '../../../src/cli/program.ts'
import { type CliServices, createCliServices } from '../../../src/cli/services.ts'
import { loadConfig } from '../../../src/config.ts'
import type { AdminRun } from './admin.ts'
import type { Backend, TestDatabase } from './databases.ts'

/** Stack frames, files, libraries, statements. */
const INTERNALS =
  /\bat \S+:\d+|node_modules|\.ts\b|Failed query|\b(?:select|insert|update|delete) /i

/** The environment that the service and the operator's command line share. */
export function findEnvironment({ databaseUrl, dataDir }: TestDatabase): Record<string, string> {
  return {
    DATA_DIR: dataDir,
    ...(databaseUrl !== null && {
      DATABASE_URL: databaseUrl,
      JWT_SECRET: 'secret of the tests, long enough',
    }),
  }
}

/** Runs one command on a database after the other, without a process for each. */
export type Run = (args: readonly string[], secret?: string) => Promise<Report>

/** Opens the database for the operator; the embedded one is nobody else's meanwhile. */
export async function asOperator<T>(
  database: TestDatabase,
  work: (run: Run) => Promise<T>,
): Promise<T> {
  const services = await createCliServices(loadConfig(findEnvironment(database)), (error) => {
    throw error
  })
  let closedCount = 0
  const shared: CliServices = { ...services, close: async () => void closedCount++ }
  let openedCount = 0
  const open = async () => {
    openedCount++
    return shared
  }
  try {
    const result = await work((args, secret = '') =>
      makeReport(args, { call: 'scoreline admin', open, readSecret: async () => secret }),
    )
    expect(closedCount, 'what a command opens it closes').toBe(openedCount)
    return result
  } finally {
    await services.close()
  }
}

/** The database as a backend, for services that come and go on it; they leave it where it is. */
export function keeping(name: Backend['name'], database: TestDatabase): Backend {
  return { name, create: async () => ({ ...database, drop: async () => {} }) }
}

/** What a command printed for a program. */
export function formatJson({ code, stdout, stderr }: AdminRun) {
  expect({ code, stderr }, stdout).toEqual({ code: 0, stderr: '' })
  expect(stdout.trimEnd().split('\n'), 'one line').toHaveLength(1)
  return JSON.parse(stdout)
}

/** Why a command was refused: a sentence without stack, file, library or statement. */
export function findReason({ code, stdout, stderr }: AdminRun): string {
  expect({ code, stdout }, stderr).toEqual({ code: 1, stdout: '' })
  expect(stderr).not.toMatch(INTERNALS)
  return stderr.trimEnd()
}
