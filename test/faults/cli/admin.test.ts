import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { runAdmin } from '../../support/start/admin.ts'
import { type Backend, backends, newDataDir } from '../../support/start/databases.ts'
import { findEnvironment, findReason, formatJson } from '../../support/start/operator.ts'
import { post, ServiceProcess } from '../../support/start/process.ts'

const PASSWORD = 'correct horse battery'
const EMAIL = 'owner@lender.example'

const running: ServiceProcess[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((service) => service.stop('SIGKILL')))
})

function serve(env: Record<string, string>): ServiceProcess {
  const service = ServiceProcess.start(env)
  running.push(service)
  return service
}

async function newEnvironment(backend: Backend): Promise<Record<string, string>> {
  const database = await backend.create()
  onTestFinished(() => database.drop())
  return findEnvironment(database)
}

const createTeam = (env: Record<string, string>) => {
  const owner = ['--owner-email', EMAIL, '--owner-password', '-']
  return runAdmin(env, ['team', 'create', '--name', 'Loans', ...owner, '--json'], `${PASSWORD}\r\n`)
}
const login = async (service: ServiceProcess, password = PASSWORD) =>
  post(`${await service.url()}/api/auth/login`, { email: EMAIL, password })

const embedded = backends.filter(({ name }) => name === 'PGlite')
const shared = backends.filter(({ name }) => name === 'PostgreSQL')

describe.each(embedded)('on $name', (backend) => {
  // Two processes on one embedded database corrupt it within seconds.
  test('commands run before and after the service; while it runs they say so and stop', async () => {
    const env = await newEnvironment(backend)
    const team = formatJson(await createTeam(env))

    const service = serve(env)
    expect((await login(service)).status).toBe(200)
    expect(service.output, 'an owner is there already').not.toContain('Creating the first owner')
    const refused = JSON.parse(findReason(await runAdmin(env, ['team', 'list', '--json'])))
    expect(refused.error).toBe('data_dir_in_use')
    expect(refused.message).toContain(`in use by process ${service.child.pid} `)
    expect(refused.message).toContain('Stop that process')
    expect(await service.stop()).toBe(0)

    expect((await runAdmin(env, ['team', 'list'])).stdout).toContain(team.id)
  })
})

describe.each(shared)('on $name', (backend) => {
  // Whoever has to stop the scoring of loans to revoke a key will not revoke it.
  test('commands work beside a running service on the same data directory', async () => {
    const env = await newEnvironment(backend)
    const service = serve(env)
    await service.url()
    formatJson(await createTeam(env))
    const session = await login(service)
    expect(session.status).toBe(200)
    const reset = ['user', 'reset-password', '--email', EMAIL, '--password', '-']
    expect(await runAdmin(env, reset, 'another password')).toMatchObject({ code: 0, stderr: '' })
    const refresh = { refresh_token: session.body['refresh_token'] }
    expect((await post(`${await service.url()}/api/auth/refresh`, refresh)).status).toBe(401)
    expect((await login(service)).status).toBe(401)
    expect((await login(service, 'another password')).status).toBe(200)
  })
})

// An operator sets up the first customer before the service has ever run.
test('a first command makes the embedded database', async () => {
  const dataDir = newDataDir()
  onTestFinished(() => rmSync(join(dataDir, '..'), { recursive: true }))
  const { code, stdout } = await runAdmin({ DATA_DIR: dataDir }, ['team', 'list'])
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'There is no team yet.\n' })
})

// Help and usage must not depend on a database that may be what is broken.
describe('without a database', () => {
  const env = { PORT: 'not a port', DATA_DIR: '/nowhere/at/all' }

  test('the help is printed on standard output', async () => {
    const { code, stdout, stderr } = await runAdmin(env, ['team', 'create', '--help'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^Usage: scoreline admin team create --name <NAME> .*\n/)
  })

  test('wrong usage is exit 2, with the reason and the help to ask for on standard error', async () => {
    const wrong = await runAdmin(env, ['team', 'create', '--name', 'x'])
    expect(wrong).toEqual({
      code: 2,
      stdout: '',
      stderr:
        "Required option '--owner-email <EMAIL>' not specified.\n" +
        'See: scoreline admin team create --help\n',
    })
    const { code, stdout, stderr } = await runAdmin(env, ['--json'])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(JSON.parse(stderr)).toEqual({
      error: 'invalid_usage',
      message: 'no command is given; see scoreline admin --help',
    })
  })

  test('wrong variables and a database that is away are reported by name, without values', async () => {
    const wrong = findReason(await runAdmin(env, ['team', 'list']))
    expect(wrong).toContain('PORT must be a whole number')
    expect(wrong).not.toContain('not a port')
    const away = {
      DATABASE_URL: 'postgres://operator:hidden@127.0.0.1:1/none',
      JWT_SECRET: 'secret of the tests, long enough',
    }
    const reason = findReason(await runAdmin(away, ['team', 'list']))
    expect(reason).toMatch(/^The database of DATABASE_URL can't be opened: .*ECONNREFUSED/)
    expect(reason).not.toContain('hidden')
    const directory = findReason(await runAdmin({ DATA_DIR: '/proc/scoreline' }, ['team', 'list']))
    expect(directory).toContain("/proc/scoreline can't be made or locked")
  })

  test.each<[string, string | Buffer, string]>([
    [
      'no UTF-8',
      Buffer.from([0x61, 0xff, ...Buffer.from(PASSWORD)]),
      'Standard input is not UTF-8.',
    ],
    ['endless', 'x'.repeat(100_000), 'Standard input is too long.'],
  ])('a password from standard input that is %s is refused', async (_, stdin, reason) => {
    const reset = ['user', 'reset-password', '--email', EMAIL, '--password', '-']
    expect(findReason(await runAdmin(env, reset, stdin))).toBe(reason)
  })
})
