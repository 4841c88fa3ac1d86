import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { databaseUrl, onServer } from '../../support/global-setup.ts'
import {
  type Backend,
  backends,
  newDataDir,
  type TestDatabase,
} from '../../support/start/databases.ts'
import { post, ServiceProcess } from '../../support/start/process.ts'
import { ROOT, readText } from '../../support/structure/documents.ts'

const { version } = JSON.parse(readText('package.json'))
const LATER = '99.1.0'
const OWNER = { email: 'owner@lender.example', password: 'a long enough password' }

/** A copy of the service that has a later version and one more migration. */
function makeLaterService(): string {
  const home = newDataDir()
  for (const folder of ['src', 'schemas', 'drizzle']) {
    cpSync(join(ROOT, folder), join(home, folder), { recursive: true })
  }
  symlinkSync(join(ROOT, 'node_modules'), join(home, 'node_modules'))
  writeFileSync(
    join(home, 'package.json'),
    readText('package.json').replace(`"version": "${version}"`, `"version": "${LATER}"`),
  )
  const migrations = join(home, 'drizzle', 'migrations')
  const journalFile = join(migrations, 'meta', '_journal.json')
  const journal = JSON.parse(readFileSync(journalFile, 'utf8'))
  const last = journal.entries.at(-1)
  const entry = { ...last, idx: last.idx + 1, when: last.when + 1, tag: '9999_later' }
  writeFileSync(journalFile, JSON.stringify({ ...journal, entries: [...journal.entries, entry] }))
  writeFileSync(join(migrations, '9999_later.sql'), 'alter table "models" add "later" text;')
  return join(home, 'src', 'cli', 'scoreline.mjs')
}

const later = makeLaterService()

describe.each(backends)('on $name', (backend: Backend) => {
  async function install() {
    const database = await backend.create()
    onTestFinished(() => database.drop())
    const env = {
      DATA_DIR: database.dataDir,
      BOOTSTRAP_OWNER_EMAIL: OWNER.email,
      BOOTSTRAP_OWNER_PASSWORD: OWNER.password,
      ...(database.databaseUrl !== null && {
        DATABASE_URL: database.databaseUrl,
        JWT_SECRET: 'x'.repeat(32),
      }),
    }
    const start = (more: Record<string, string> = {}, file?: string) => {
      const service = ServiceProcess.start(
        { ...env, ...more },
        file,
        file === undefined ? [] : ['serve'],
      )
      onTestFinished(() => void service.stop('SIGKILL'))
      return service
    }
    return { database, start }
  }

  async function runOnce(service: ServiceProcess): Promise<void> {
    await service.url()
    expect(await service.stop()).toBe(0)
  }

  test('a start after a later version ends with both versions and what to do', async () => {
    const { start, database } = await install()
    await runOnce(start())
    await runOnce(start({}, later))
    const refused = start()
    expect(await refused.exit()).toBe(1)
    expect(refused.stderr).toContain(`was written by Scoreline ${LATER}`)
    expect(refused.stderr).toContain(`this is Scoreline ${version}`)
    expect(refused.stderr).toContain('"Going back" in docs/upgrading.md')
    expect(refused.stderr).toContain(`ACCEPT_LATER_VERSION=${LATER}`)
    if (database.databaseUrl === null) return
    // Another machine has a data directory of its own: the database alone says it.
    const elsewhere = start({ DATA_DIR: newDataDir() })
    expect(await elsewhere.exit()).toBe(1)
    expect(elsewhere.stderr).toContain('the database of DATABASE_URL was written by Scoreline')
    expect(elsewhere.stderr).toContain(LATER)
  })

  test('an operator who names the later version starts on its data', async () => {
    const { start } = await install()
    await runOnce(start({}, later))
    const accepted = start({ ACCEPT_LATER_VERSION: LATER })
    const url = await accepted.url()
    const signedIn = await post(`${url}/api/auth/login`, OWNER)
    expect(signedIn.status).toBe(200)
    await accepted.stop()
    // It is asked for at each start, not once for all.
    expect(await start().exit()).toBe(1)
  })

  test('the backup from before the upgrade starts the older version', async () => {
    const { start, database } = await install()
    await runOnce(start())
    const backup = await makeCopy(database)
    await runOnce(start({}, later))
    expect(await start().exit()).toBe(1)
    const restored = start(backup)
    const signedIn = await post(`${await restored.url()}/api/auth/login`, OWNER)
    expect(signedIn.status).toBe(200)
  })
})

/** Backs up database and data directory, which no service has open. */
async function makeCopy(database: TestDatabase): Promise<Record<string, string>> {
  const dataDir = newDataDir()
  cpSync(database.dataDir, dataDir, { recursive: true })
  if (database.databaseUrl === null) return { DATA_DIR: dataDir }
  const { serverUrl } = inject('postgresTemplate') ?? expect.fail('there is a server')
  const original = new URL(database.databaseUrl).pathname.slice(1)
  const copy = `${original}_copy`
  await onServer(serverUrl, `create database ${copy} template ${original}`)
  onTestFinished(() => onServer(serverUrl, `drop database ${copy} with (force)`))
  return { DATA_DIR: dataDir, DATABASE_URL: databaseUrl(serverUrl, copy) }
}
