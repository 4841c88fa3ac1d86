import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { sql } from 'drizzle-orm'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { makeReport, run as runLog } from '../../src/cli/log.ts'
import { createCliServices } from '../../src/cli/services.ts'
import { queryRows } from '../../src/platform/db/client.ts'
import {
  ArchivedLog,
  DAY,
  DAY_MS,
  insertModel,
  listRequests,
  logged,
  makeDay,
  store,
} from '../support/archive/archived-log.ts'
import { BatchCaller, type ShownBatch } from '../support/batches/batches.ts'
import { sampleSpec } from '../support/cards/cards.ts'
import { findOutcome } from '../support/expect/answers.ts'
import { provenBy, scoreApart, verifyOffline } from '../support/expect/proofs.ts'
import { databaseUrl, onServer } from '../support/global-setup.ts'
import { loggedIds } from '../support/score-log/log-rows.ts'
import { postgresPrograms } from '../support/servers/programs.ts'
import { hasPostgres, newDataDir, postgres, type TestDatabase } from '../support/start/databases.ts'
import { asOperator, keeping } from '../support/start/operator.ts'
import { openTestDatabase, withDatabase } from '../support/start/seeded-database.ts'
import { TestService } from '../support/start/service.ts'
import { Team } from '../support/start/team.ts'
import { readText } from '../support/structure/documents.ts'

const run = promisify(execFile)
const programs = postgresPrograms()

/** The lines of the runbook, among them its commands. */
const runbook = readText('docs/backup.md')
  .split('\n')
  .map((line) => line.trim())

/** Runs a line of the runbook as an operator pastes it, with their own names in place of ours. */
async function follow(
  start: string,
  cwd: string,
  { env, names = {} }: { env: Record<string, string>; names?: Record<string, string> },
): Promise<void> {
  const line = runbook.find((one) => one.startsWith(start)) ?? expect.fail(`no line ${start}`)
  const named = Object.entries(names).reduce((text, [from, to]) => text.replace(from, to), line)
  const path = `${programs}:${process.env['PATH']}`
  await run('sh', ['-euc', named], { cwd, env: { ...env, PATH: path } })
}

/** What the service knows and the programs of PostgreSQL refuse. */
const OWN_PARAMETERS = '?prepare=false'

/** @returns a directory with the dump */
async function dump({ databaseUrl: url, dataDir }: TestDatabase): Promise<string> {
  const place = join(dataDir, '..', `backup-${randomBytes(4).toString('hex')}`)
  mkdirSync(place)
  await follow('pg_dump', place, { env: { PG_URL: url?.replace(OWN_PARAMETERS, '') ?? '' } })
  return place
}

/** Fills a new database of another role. Its data directory is empty. */
async function restore(place: string): Promise<TestDatabase> {
  const { serverUrl } = inject('postgresTemplate') ?? expect.fail('no server was named')
  const name = `scoreline_test_${randomBytes(6).toString('hex')}`
  await onServer(serverUrl, `create role ${name} login password 'restored'`)
  const names = { '--owner=scoreline scoreline': `--owner=${name} ${name}` }
  await follow('createdb', place, { env: { ADMIN_URL: serverUrl }, names })
  const url = new URL(databaseUrl(serverUrl, name))
  Object.assign(url, { username: name, password: 'restored' })
  await follow('pg_restore', place, { env: { PG_URL: url.href } })
  const drop = async () => {
    await onServer(serverUrl, `drop database ${name} with (force)`)
    await onServer(serverUrl, `drop role ${name}`)
  }
  onTestFinished(drop)
  return { databaseUrl: url.href + OWN_PARAMETERS, dataDir: newDataDir(), drop }
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
  /** A file that was scored before the dump, and its results. */
  readonly batch: ShownBatch
  readonly results: Buffer
  /** A key that was revoked after the dump. */
  readonly revoked: { readonly id: string; readonly key: string }
  /** Where the dump is. */
  readonly place: string
}

async function untilTheDisaster(): Promise<Before> {
  const created = await postgres.create()
  onTestFinished(() => created.drop())
  const database = { ...created, databaseUrl: `${created.databaseUrl}${OWN_PARAMETERS}` }
  const service = await TestService.start(keeping('PostgreSQL', database))
  const team = await Team.of(service)
  const { slug } = await team.deploy(sampleSpec())
  const dumped = await scoreApart(team, slug, 3)
  const checkpoint = await team.done('GET', '/v1/log/checkpoint')
  const logKey = (await team.done('GET', '/v1/log/key')).key
  const caller = new BatchCaller(service, team.key)
  const batch = await caller.score(slug, 'duration_months\n9\n')
  const results = await caller.bytes(batch.id)
  const revoked = await team.done('POST', '/v1/keys', { name: 'revoked after the dump' })
  const place = await dump(database)
  expect((await team.call('DELETE', `/v1/keys/${revoked.id}`)).statusCode).toBe(204)
  const later = await scoreApart(team, slug, 2)
  await service.close()
  const [, payload = ''] = team.owner.split('.')
  const { team: teamId } = JSON.parse(Buffer.from(payload, 'base64url').toString())
  const proofs = { checkpoint, logKey }
  return { team, teamId, slug, database, dumped, later, ...proofs, batch, results, revoked, place }
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
  const report = await makeReport(args, { call: 'scoreline log', open, stdout: process.stdout })
  return { code: report.code, text: report.stdout + report.stderr }
}

// A backup that was never restored is a hope.
describe.skipIf(!hasPostgres || programs === null)('on PostgreSQL', () => {
  test('a dump with the spools and secrets restores everything that was answered', async () => {
    const before = await untilTheDisaster()
    const { team, teamId, slug, dumped, later, checkpoint, logKey } = before
    const { place, batch, results, revoked } = before
    await follow('tar --create', place, { env: { DATA_DIR: before.database.dataDir } })
    const database = await restore(place)
    await follow('tar --extract', place, { env: { DATA_DIR: database.dataDir } })
    const revoking = runbook.find((line) => line.includes('key revoke')) ?? ''
    expect(revoking).toBe('npm run admin -- key revoke key_…')
    await asOperator(database, async (admin) => {
      expect((await admin(['key', 'revoke', revoked.id])).code).toBe(0)
    })
    const service = await startOn(database)

    // People sign in, and keys score, as before.
    const owner = await service.signIn()
    const after = await Team.of(service, owner)
    const score = { url: `/v1/score/${slug}`, token: team.key, body: { duration_months: 9 } }
    const answer = await service.call(score)
    expect(answer.statusCode, answer.body).toBe(200)
    const { request_id: fresh } = answer.json()
    const refused = await service.call({ ...score, token: revoked.key })
    expect(refused.statusCode, refused.body).toBe(401)

    // What files gave is there, too.
    expect(await new BatchCaller(service, team.key).bytes(batch.id)).toEqual(results)

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
    const database = await restore(before.place)
    const service = await startOn(database)
    const after = await Team.of(service, await service.signIn())
    const [fresh = ''] = await scoreApart(after, slug, 1)
    const logged = await withDatabase(database, loggedIds)
    expect(logged.toSorted()).toEqual([...dumped, fresh].sort())
    for (const id of later) {
      expect(findOutcome(await after.call('GET', `/v1/scores/${id}`))).toBe('404 score_not_found')
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
    const place = await dump(database)
    expect(await old.round()).toBe(true)
    expect(await old.round()).toBe(true)

    const restored = await restore(place)
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
    expect(await log.reading(listRequests)).toHaveLength(2)
    const audited = await queryRows(
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
