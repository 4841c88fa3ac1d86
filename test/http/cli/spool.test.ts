import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { run } from '../../../src/cli/spool.ts'
import { queryRows } from '../../../src/platform/db/client.ts'
import { loggedIds } from '../../support/score-log/log-rows.ts'
import { backends, type TestDatabase } from '../../support/start/databases.ts'
import { findEnvironment, keeping } from '../../support/start/operator.ts'
import { withDatabase } from '../../support/start/seeded-database.ts'
import { TestService } from '../../support/start/service.ts'
import { numberedSpec, Team } from '../../support/start/team.ts'

const WAIT_MS = 30_000

describe.each(backends)('on $name', (backend) => {
  let database: TestDatabase
  let rejected: string
  let requestId: string
  let score: number
  let file: string
  let copy: string

  const command = (...args: string[]) =>
    run(args, {
      call: 'scoreline spool',
      env: findEnvironment(database),
      onCrash: (error) => {
        throw error
      },
    })
  const waiting = () => readdirSync(rejected).filter((name) => name.endsWith('.rejected'))
  const logged = () =>
    withDatabase(database, async (db) => (await loggedIds(db)).filter((id) => id === requestId))

  beforeAll(async () => {
    database = await backend.create()
    rejected = join(database.dataDir, 'spool', 'rejected')
    await withDatabase(database, async (db) => {
      await db.execute(sql`create function refuse() returns trigger language plpgsql as $$
        begin raise exception 'no' using errcode = '22000'; end $$`)
      await db.execute(sql`create trigger refuse before insert on score_blocks
        for each row execute function refuse()`)
    })
    const service = await TestService.start(keeping(backend.name, database))
    const team = await Team.of(service)
    const { slug } = await team.deploy(numberedSpec(1))
    const answer = await team.score(slug, { income: 1 })
    requestId = answer.request_id
    score = answer.score
    await vi.waitFor(() => expect(waiting()).toHaveLength(1), WAIT_MS)
    ;[file = ''] = waiting()
    copy = join(rejected, 'copy')
    copyFileSync(join(rejected, file), copy)
    await service.close()
  })
  afterAll(() => database.drop())

  test('a record that was set aside is listed, shown, and put back into the log once', async () => {
    const listed = await command('list')
    expect(listed).toMatchObject({ code: 0, stderr: '' })
    expect(listed.stdout).toMatch(`${file}  `)
    expect(listed.stdout).toMatch(/the database refuses it \(22000\) +yes/)
    const shown = JSON.parse((await command('show', file)).stdout)
    expect(shown).toMatchObject({
      file,
      reason: 'the database refuses it (22000)',
      can_be_restored: true,
      request_ids: [requestId],
      records: [{ request_id: requestId, applicants: [{ id: null, scores: [score] }] }],
    })

    // While the cause is there, the file stays.
    const refused = await command('restore', file)
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(waiting()).toEqual([file])

    await withDatabase(database, async (db) => {
      await db.execute(sql`drop trigger refuse on score_blocks`)
    })
    expect(await command('restore', file)).toEqual({
      code: 0,
      stdout: `${file}: put back 1 record.\n`,
      stderr: '',
    })
    expect(waiting()).toEqual([])
    expect((await command('list')).stdout).toBe('No record is set aside.\n')
    expect(await logged()).toEqual([requestId])

    // As after a command that died before it gave the file its new name.
    copyFileSync(copy, join(rejected, file))
    expect((await command('restore', file)).stdout).toBe(`${file}: the log had 1 record.\n`)
    expect(await logged()).toEqual([requestId])

    // As after a failover that lost what the database remembers of it: the spool drained it again.
    await withDatabase(database, async (db) => {
      await db.execute(sql`delete from spool_cursors where spool_id like 'restored-%'`)
    })
    copyFileSync(copy, join(rejected, file))
    expect((await command('restore', file)).stdout).toBe(`${file}: the log had 1 record.\n`)
    expect(waiting()).toEqual([])
    expect(await logged()).toEqual([requestId])
    const recorded = await withDatabase(database, (db) =>
      queryRows(
        db,
        sql`select actor, subject, after->'requests'->>0 as request from audit_log
          where action = 'log.restore' limit 1`,
      ),
    )
    expect(recorded).toEqual([{ actor: 'operator', subject: file, request: requestId }])
  })

  test('a damaged record is named with its request, and is not put back', async () => {
    const bytes = readFileSync(copy)
    // The version of the record.
    bytes[bytes.indexOf('\n') + 1] = 0xfe
    writeFileSync(join(rejected, 'damaged.rejected'), bytes)
    const files = JSON.parse((await command('list', '--json')).stdout)
    const listed = files.find((one: { file: string }) => one.file === 'damaged.rejected')
    expect(listed).toMatchObject({ can_be_restored: false, request_ids: [requestId], records: [] })
    expect(listed.fault).toBe('its bytes are damaged, or of another version')
    const { code, stderr } = await command('restore', 'damaged.rejected')
    expect(code).toBe(1)
    expect(stderr).toMatch(/^Damaged.rejected can't be put back by this version: .+ stored.\n$/)
    expect(waiting()).toContain('damaged.rejected')
    rmSync(join(rejected, 'damaged.rejected'))
  })

  test('a file that is not there is refused, and a path leads nowhere else', async () => {
    const { code, stderr } = await command('show', '../identity')
    expect(code).toBe(1)
    expect(stderr).toMatch(/has no file \.\.\/identity: see spool list\.\n$/)
  })
})
