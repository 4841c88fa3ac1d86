import type { Reporter } from 'vitest/node'
import {
  chromiumPath,
  hasCurl,
  hasOpenssl,
  postgresPrograms,
  schemathesisPath,
} from './servers/programs.ts'

/** What this machine lacks, each with how a run gets it. */
function lacking(): string[] {
  const { TEST_DATABASE_URL, TEST_REDIS_URL } = process.env
  return [
    ...(TEST_DATABASE_URL === undefined ? ['PostgreSQL (TEST_DATABASE_URL)'] : []),
    ...(postgresPrograms() === null ? ['a PostgreSQL to stop (POSTGRES_BIN)'] : []),
    ...(TEST_REDIS_URL === undefined ? ['Redis (TEST_REDIS_URL)'] : []),
    ...(chromiumPath() === null ? ['Chromium (CHROMIUM_PATH)'] : []),
    ...(hasCurl() ? [] : ['curl']),
    ...(hasOpenssl() ? [] : ['openssl']),
    ...(schemathesisPath() === null ? ['Schemathesis (SCHEMATHESIS_PATH)'] : []),
  ]
}

/** Says at the end of a run which tests it left out, and why. Under CI none are. */
export class LeftOut implements Reporter {
  onTestRunEnd(modules: Parameters<NonNullable<Reporter['onTestRunEnd']>>[0]): void {
    if (process.env['CI'] !== undefined) return
    const tests = modules.flatMap((module) => [...module.children.allTests('skipped')])
    const missing = lacking()
    if (tests.length === 0 || missing.length === 0) return
    process.stdout.write(
      `\n${tests.length} tests were left out; some need ${missing.join(', ')}. ` +
        '.ci/run has all of them and runs every test.\n',
    )
  }
}
