import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest'
import {
  CERTIFICATES,
  type CertificateName,
  Certificates,
} from '../../support/servers/certificates.ts'
import { freePort } from '../../support/servers/free-port.ts'
import { hasPostgresServer, PostgresServer } from '../../support/servers/postgres-server.ts'
import { hasOpenssl } from '../../support/servers/programs.ts'

const run = promisify(execFile)
const ROOT = new URL('../../../', import.meta.url).pathname

/** What a client says of each certificate; null: it connects. */
const VERDICTS: Readonly<Record<CertificateName, RegExp | null>> = {
  right: null,
  'wrong-name': /ERR_TLS_CERT_ALTNAME_INVALID|altnames/,
  expired: /CERT_HAS_EXPIRED|certificate has expired/,
  // Its server is asked for by its name.
  address: /ERR_TLS_CERT_ALTNAME_INVALID|altnames/,
}
const CONNECTED = /^connected/
const ASK_POSTGRES = `
  import { connectPostgres } from './src/platform/db/postgres.ts'
  const { db, close } = connectPostgres(process.env.URL, 1)
  try { await db.execute('select 1'); console.log('connected') }
  catch (error) { console.log(error.cause?.code, error.cause?.message) }
  await close()`
const ASK_REDIS = `
  import { openRedis } from './src/platform/redis.ts'
  const redis = openRedis(process.env.URL, 'test', () => 200)
  redis.on('ready', async () => { console.log('connected', await redis.ping()); process.exit() })
  redis.on('error', (error) => { console.log(error.code, error.message); process.exit() })`

const ASK_NODE = ASK_REDIS.replace(
  'process.env.URL,',
  `{ url: 'rediss://node.example', next: () => ({
    host: 'localhost',
    port: Number(new URL(process.env.URL).port),
  }) },`,
)

let certificates: Certificates

const canCertify = hasOpenssl()

beforeAll(() => {
  if (canCertify) certificates = new Certificates()
})
afterAll(() => {
  if (canCertify) certificates.remove()
})

/** Node reads the authorities at its start, as an operator names them. */
async function ask(script: string, url: string, isKnown = true): Promise<string> {
  const known = isKnown ? { NODE_EXTRA_CA_CERTS: certificates.authority } : {}
  const env = { PATH: process.env['PATH'], URL: url, ...known }
  const args = ['--input-type=module', '--eval', script]
  return (await run(process.execPath, args, { cwd: ROOT, env, timeout: 30_000 })).stdout
}

function expectVerdict(answer: string, name: CertificateName): void {
  const verdict = VERDICTS[name]
  if (verdict === null) expect(answer).toMatch(CONNECTED)
  else expect(answer).toMatch(verdict)
  if (verdict !== null) expect(answer).not.toMatch(CONNECTED)
}

// Whoever can pretend to be the database gets every applicant's values.
describe.skipIf(!canCertify || !hasPostgresServer)('TLS to PostgreSQL', () => {
  test.each(CERTIFICATES)(
    'sslmode=verify-full takes the %s certificate for what it is',
    async (name) => {
      const server = await PostgresServer.start()
      onTestFinished(() => server.drop())
      await server.useTls(certificates.certificate(name), certificates.key(name))
      const url = `postgres://postgres@localhost:${server.port}/postgres?sslmode=verify-full`
      expectVerdict(await ask(ASK_POSTGRES, url), name)
      // The same where the service chooses among several servers, one of which is away.
      const several = `localhost:${await freePort()},localhost:${server.port}`
      const settings = 'sslmode=verify-full&target_session_attrs=primary'
      const list = `postgres://postgres@${several}/postgres?${settings}`
      expectVerdict(await ask(ASK_POSTGRES, list), name)
      if (name === 'right') expect(await ask(ASK_POSTGRES, url, false)).not.toMatch(CONNECTED)
    },
  )

  // Told no name, Node takes `localhost`: any certificate for that passed for any address.
  test.each<[CertificateName, RegExp]>([
    ['address', CONNECTED],
    ['right', /ERR_TLS_CERT_ALTNAME_INVALID|altnames/],
  ])('sslmode=verify-full compares the %s certificate with an address', async (name, verdict) => {
    const server = await PostgresServer.start()
    onTestFinished(() => server.drop())
    await server.useTls(certificates.certificate(name), certificates.key(name))
    const url = `postgres://postgres@127.0.0.1:${server.port}/postgres?sslmode=verify-full`
    expect(await ask(ASK_POSTGRES, url)).toMatch(verdict)
  })

  test('sslmode=verify-full refuses a server without TLS', async () => {
    const server = await PostgresServer.start()
    onTestFinished(() => server.drop())
    const url = `postgres://postgres@localhost:${server.port}/postgres?sslmode=verify-full`
    expect(await ask(ASK_POSTGRES, url)).toContain('NO_TLS')
    const plain = postgres(server.url, { max: 1 })
    expect(await plain`select 1 as one`).toHaveLength(1)
    await plain.end()
  })
})

describe.skipIf(!canCertify || inject('redisUrl') === null)('TLS to Redis', () => {
  test.each(CERTIFICATES)('rediss:// takes the %s certificate for what it is', async (name) => {
    const port = await freePort()
    const files = ['--tls-cert-file', certificates.certificate(name)]
    const key = ['--tls-key-file', certificates.key(name), '--tls-auth-clients', 'no']
    const plain = ['--port', '0', '--save', '', '--appendonly', 'no', '--bind', '127.0.0.1']
    const args = [...plain, '--tls-port', `${port}`, ...files, ...key]
    const ca = ['--tls-ca-cert-file', certificates.authority, '--dir', certificates.directory]
    const child = spawn('redis-server', [...args, ...ca], { stdio: 'ignore' })
    onTestFinished(async () => {
      child.kill('SIGKILL')
      await once(child, 'exit')
    })
    const url = `rediss://localhost:${port}`
    let answer = ''
    for (let tries = 0; tries < 20; tries++) {
      answer = await ask(ASK_REDIS, url)
      if (!answer.includes('ECONNREFUSED')) break
      await setTimeout(200)
    }
    expectVerdict(answer, name)
    // The same where the service chooses the node of a cluster.
    expectVerdict(await ask(ASK_NODE, url), name)
    if (name === 'right') expect(await ask(ASK_REDIS, url, false)).not.toMatch(CONNECTED)
  })
})
