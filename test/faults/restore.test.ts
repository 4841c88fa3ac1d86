import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { cpSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { sql } from 'drizzle-orm'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { reportOf, run as runLog } from '../../src/cli/log.ts'
import { createCliServices } from '../../src/cli/services.ts'
import { rowsOf } from '../../src/platform/db/client.ts'
import {
  ArchivedLog,
  DAY,
  DAY_MS,
  insertModel,
  logged,
  makeDay,
  requestsOf,
  store,
} from '../support/archive/archived-log.ts'
import { sampleSpec } from '../support/cards/cards.ts'
import { outcomeOf } from '../support/expect/answers.ts'
import { provenBy, scoreApart, verifyOffline } from '../support/expect/proofs.ts'
import { databaseUrl, onServer } from '../support/global-setup.ts'
import { loggedIds } from '../support/score-log/log-rows.ts'
import { postgresPrograms } from '../support/servers/programs.ts'
import { hasPostgres, newDataDir, postgres, type TestDatabase } from '../support/start/databases.ts'
import { keeping } from '../support/start/operator.ts'
import { openTestDatabase, withDatabase } from '../support/start/seeded-database.ts'
import { TestService } from '../support/start/service.ts'
import { Team } from '../support/start/team.ts'

const run = promisify(execFile)
const programs = postgresPrograms()

/** The commands of docs/operating.md. */
async function dump(url: string, file: string): Promise<void> {
  const args = ['--format=custom', '--no-owner', `--file=${file}`, url]
  await run(join(programs ?? '', 'pg_dump'), args)
}

async function restore(file: string, url: string): Promise<void> {
  const args = ['--exit-on-error', '--no-owner', `--dbname=${url}`, file]
  await run(join(programs ?? '', 'pg_restore'), args)
}

/** An empty database on the same server, and an empty data directory. */
async function emptyDatabase(): Promise<TestDatabase> {
  const { serverUrl } = inject('postgresTemplate') ?? expect.fail('no server was named')
  const name = `scoreline_test_${randomBytes(6).toString('hex')}`
  await onServer(serverUrl, `create database ${name}`)
  const drop = () => onServer(serverUrl, `drop database ${name} with (force)`)
  return { databaseUrl: databaseUrl(serverUrl, name), dataDir: newDataDir(), drop }
}

/** What was there before the disaster. */
interface Before {
  readonly team: Team
  readonly teamId: string
  readonly slug: string
  readonly database: TestDatabase
  /** Requests that the dump has, and those that were answered after it. */
  readonly dumped: readonly string[]
  readonly later: readonly string[]
  /** A checkpoint of the moment of the dump. */
  readonly checkpoint: { readonly checkpoint: string }
  readonly logKey: string
  readonly file: string
}

async function untilTheDisaster(): Promise<Before> {
  const database = await postgres.create()
  onTestFinished(() => database.drop())
  const service = await TestService.start(keeping('PostgreSQL', database))
  const team = await Team.of(service)
  const { slug } = await team.deploy(sampleSpec())
  const dumped = await scoreApart(team, slug, 3)
  const checkpoint = await team.done('GET', '/v1/log/checkpoint')
  const logKey = (await team.done('GET', '/v1/log/key')).key
  const file = join(database.dataDir, '..', 'scoreline.dump')
  await dump(database.databaseUrl ?? '', file)
  const later = await scoreApart(team, slug, 2)
  await service.close()
  const [, payload = ''] = team.owner.split('.')
  const { team: teamId } = JSON.parse(Buffer.from(payload, 'base64url').toString())
  return { team, teamId, slug, database, dumped, later, checkpoint, logKey, file }
}

async function startOn(database: TestDatabase): Promise<TestService> {
  const service = await TestService.start(keeping('PostgreSQL', database))
  onTestFinished(() => service.close())
  return service
}

/** As an operator calls `scoreline log verify`. */
async function verifyLog(service: TestService, teamId: string, checkpoint: object) {
  const file = join(newDataDir(), 'checkpoint.json')
  writeFileSync(file, JSON.stringify(checkpoint))
  const args = ['verify', '--team', teamId, '--checkpoint', file, '--json']
  const open = () =>
    createCliServices(service.config, (error) => {
      throw error
    })
  const report = await reportOf(args, { call: 'scoreline log', open, stdout: process.stdout })
  return { code: report.code, text: report.stdout + report.stderr }
}

// A backup that was never restored is a hope.
describe.skipIf(!hasPostgres || programs === null)('on PostgreSQL', () => {
  test('a dump with the spools and secrets restores everything that was answered', async () => {
    const before = await untilTheDisaster()
    const { team, teamId, slug, dumped, later, checkpoint, logKey } = before
    const database = await emptyDatabase()
    onTestFinished(() => database.drop())
    await restore(before.file, database.databaseUrl ?? '')
    cpSync(join(before.database.dataDir, 'spool'), join(database.dataDir, 'spool'), {
      recursive: true,
    })
    const service = await startOn(database)

    // People sign in, and keys score, as before.
    const owner = await service.signIn()
    const after = await Team.of(service, owner)
    const score = { url: `/v1/score/${slug}`, token: team.key, body: { duration_months: 9 } }
    const answer = await service.call(score)
    expect(answer.statusCode, answer.body).toBe(200)
    const { request_id: fresh } = answer.json()

    // The spool brings back what the dump lacks, once.
    for (const id of [...dumped, ...later, fresh]) {
      expect((await provenBy(after, id)).statusCode, id).toBe(200)
      const read = await after.done('GET', `/v1/scores/${id}`)
      expect(read.deployment_id).toBe(slug)
    }
    const logged = await withDatabase(database, loggedIds)
    expect(logged.toSorted()).toEqual([...dumped, ...later, fresh].sort())

    // The tree goes on from the dump: an older checkpoint is still one of its past.
    expect((await after.done('GET', '/v1/log/key')).key).toBe(logKey)
    const proof = (await provenBy(after, fresh)).json()
    expect(verifyOffline(proof, logKey).isProved).toBe(true)
    const verified = await verifyLog(service, teamId, checkpoint)
    expect(verified.code, verified.text).toBe(0)
  })

  test('a dump alone lacks what was answered after it, and the log goes on without it', async () => {
    const before = await untilTheDisaster()
    const { team, teamId, slug, dumped, later, checkpoint } = before
    const database = await emptyDatabase()
    onTestFinished(() => database.drop())
    await restore(before.file, database.databaseUrl ?? '')
    const service = await startOn(database)
    const after = await Team.of(service, await service.signIn())
    const [fresh = ''] = await scoreApart(after, slug, 1)
    const logged = await withDatabase(database, loggedIds)
    expect(logged.toSorted()).toEqual([...dumped, fresh].sort())
    for (const id of later) {
      expect(outcomeOf(await after.call('GET', `/v1/scores/${id}`))).toBe('404 score_not_found')
    }
    expect((await verifyLog(service, teamId, checkpoint)).code).toBe(0)
    const body = { duration_months: 1 }
    const answer = await service.call({ url: `/v1/score/${slug}`, token: team.key, body })
    expect(answer.statusCode).toBe(200)
  })

  /** A log that is archived on this database. */
  async function archivedOn(database: TestDatabase, root?: string): Promise<ArchivedLog> {
    const handle = await openTestDatabase(database)
    const log = new ArchivedLog(handle, root)
    onTestFinished(async () => {
      await handle.close()
      log.remove()
    })
    return log
  }

  test('a restored database takes the archive when the operator says so, and others lose it', async () => {
    const database = await postgres.create()
    onTestFinished(() => database.drop())
    const old = await archivedOn(database)
    await insertModel(old.handle)
    await makeDay(old.handle, DAY)
    await makeDay(old.handle, DAY + DAY_MS)
    await store(old.handle, [logged(0)])
    expect(await old.round()).toBe(true)
    const file = join(database.dataDir, '..', 'scoreline-archive.dump')
    await dump(database.databaseUrl ?? '', file)
    expect(await old.round()).toBe(true)
    expect(await old.round()).toBe(true)

    const restored = await emptyDatabase()
    onTestFinished(() => restored.drop())
    await restore(file, restored.databaseUrl ?? '')
    const log = await archivedOn(restored, dirname(old.directory))
    const adopt = (...args: string[]) =>
      runLog(['adopt-archive', ...args], {
        call: 'scoreline log',
        env: {
          DATABASE_URL: restored.databaseUrl ?? '',
          JWT_SECRET: randomBytes(32).toString('hex'),
          SCORE_LOG_ARCHIVE: pathToFileURL(log.directory).href,
        },
        onCrash: (error) => {
          throw error
        },
      })
    expect(await log.round()).toBe(false)
    const refused = await adopt()
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr).toContain('--others-are-stopped')
    expect(await log.round()).toBe(false)

    expect(await adopt('--others-are-stopped')).toMatchObject({ code: 0, stderr: '' })
    // Also one that was forgotten, and has just done a round.
    expect(await old.round()).toBe(false)
    await store(log.handle, [logged(DAY_MS)])
    expect(await log.round()).toBe(true)
    expect(log.files('2026-10-06')).toContain('part-00000-g1.parquet')
    expect(await log.reading(requestsOf)).toHaveLength(2)
    const audited = await rowsOf(
      log.handle.db,
      sql`select team_id, actor from audit_log where action = 'log.adopt_archive'`,
    )
    expect(audited).toEqual([{ team_id: 'team_1', actor: 'operator' }])

    const again = await adopt('--others-are-stopped')
    expect(again.stdout).toContain('nothing was changed')
    await log.handle.db.execute(sql`update score_archive set archive_id = 'another'`)
    expect((await adopt('--others-are-stopped')).stderr).toContain('of another database')
  })
})
