import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeReport } from '../../../src/cli/log.ts'
import { createCliServices } from '../../../src/cli/services.ts'
import { loadConfig } from '../../../src/config.ts'
import { newId } from '../../../src/platform/ids.ts'
import { statsWith } from '../../support/expect/stats.ts'
import { backends, type TestDatabase } from '../../support/start/databases.ts'
import { findEnvironment, keeping } from '../../support/start/operator.ts'
import { TestService } from '../../support/start/service.ts'
import { numberedSpec, Team } from '../../support/start/team.ts'

describe.each(backends)('on $name', (backend) => {
  let database: TestDatabase
  let teamId: string
  let slug: string
  let requestId: string

  beforeAll(async () => {
    database = await backend.create()
    const service = await TestService.start(keeping(backend.name, database))
    const team = await Team.of(service)
    slug = (await team.deploy(numberedSpec(1))).slug
    requestId = (await team.score(slug, { income: 1 })).request_id
    teamId = JSON.parse(Buffer.from(team.owner.split('.')[1] ?? '', 'base64url').toString()).team
    await team.scoreBatch(slug, [{ id: 'A-1' }, { id: 'A-2' }, { id: 'A-1' }])
    await statsWith(service, team.key, slug, 4)
    await service.close()
  })
  afterAll(() => database.drop())

  async function run(...args: string[]) {
    const chunks: Buffer[] = []
    const stdout = new Writable({
      write: (chunk, _encoding, done) => {
        chunks.push(chunk)
        done()
      },
    })
    const open = () =>
      createCliServices(loadConfig(findEnvironment(database)), (error) => {
        throw error
      })
    const report = await makeReport(args, { call: 'scoreline log', open, stdout })
    return { ...report, written: Buffer.concat(chunks).toString() }
  }

  test('the scores of a team are written to standard output or to a file', async () => {
    const stated = await run('export', '--team', teamId)
    expect(stated).toMatchObject({ code: 0, stdout: '', stderr: '' })
    const [first = ''] = stated.written.split('\n')
    expect(JSON.parse(first)).toMatchObject({ request_id: requestId, deployment_id: slug })
    const file = join(database.dataDir, '..', 'log.parquet')
    const options = ['--deployment', slug, '--format', 'parquet', '--out', file]
    expect(await run('export', '--team', teamId, ...options)).toMatchObject({
      code: 0,
      stdout: '',
      stderr: '',
      written: '',
    })
    const bytes = readFileSync(file)
    expect([bytes.toString('latin1', 0, 4), bytes.toString('latin1', bytes.length - 4)]).toEqual([
      'PAR1',
      'PAR1',
    ])
    expect(existsSync(`${file}.part`)).toBe(false)
  })

  test.each([
    [['--team', newId('team_', 0)], /no team/],
    [['--deployment', newId('dep_', 0)], /no active deployment/],
    [['--out', '/nowhere/log.csv'], /can't be written: ENOENT/],
  ])('an export with %j is refused with the reason', async (options, reason) => {
    const team = options[0] === '--team' ? [] : ['--team', teamId]
    const { code, stderr, written } = await run('export', ...team, ...options)
    expect([code, written]).toEqual([1, ''])
    expect(stderr).toMatch(reason)
  })

  test('a reference is erased, and the report counts where it was', async () => {
    const erase = (...options: string[]) => run('erase', '--team', teamId, ...options)
    const first = await erase('--reference', 'A-1', '--json')
    expect([first.code, first.stderr]).toEqual([0, ''])
    const { reference_sha256, ...counts } = JSON.parse(first.stdout)
    expect(counts).toEqual({ places: 2, requests: 1, covers_until: expect.any(String) })
    const again = await erase('--reference', 'A-1')
    expect(again).toMatchObject({
      stdout: `Erased the reference in 0 places of 0 requests; its hash is ${reference_sha256}.\n`,
    })
    const { written } = await run('export', '--team', teamId)
    expect(
      written
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).record_id),
    ).toEqual([null, null, 'A-2', null])
    expect(await erase('--reference', '')).toMatchObject({ code: 1, stdout: '' })
    expect(await erase()).toMatchObject({ code: 2, stdout: '' })
    const unknown = await run('erase', '--team', newId('team_', 0), '--reference', 'A-1')
    expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringMatching(/no team/)])
  })

  test('wrong usage says what is missing or wrong', async () => {
    const { code, stderr } = await run('export')
    expect([code, stderr.includes('--team')]).toEqual([2, true])
    for (const time of ['yesterday', '2026-11-01', '2026-11-01T00:00:00']) {
      const refused = await run('export', '--team', teamId, '--from', time)
      expect([refused.code, refused.stderr]).toEqual([2, expect.stringMatching(/with its zone/)])
    }
  })
})
