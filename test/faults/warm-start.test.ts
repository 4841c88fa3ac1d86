import { rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { sampleSpec } from '../support/cards/cards.ts'
import { hasPostgresServer, PostgresServer } from '../support/servers/postgres-server.ts'
import { newDataDir } from '../support/start/databases.ts'
import { post, ServiceProcess } from '../support/start/process.ts'
import { PROCESS_OWNER } from '../support/start/running.ts'

const DEPLOYMENTS = 12

interface Replica {
  readonly url: string
  readonly process: ServiceProcess
}

async function startReplica(databaseUrl: string, dataDir: string): Promise<Replica> {
  const redisUrl = inject('redisUrl') ?? ''
  const process = ServiceProcess.start({
    DATABASE_URL: databaseUrl,
    DATA_DIR: dataDir,
    JWT_SECRET: 'secret of the tests, long enough',
    BOOTSTRAP_OWNER_EMAIL: PROCESS_OWNER.email,
    BOOTSTRAP_OWNER_PASSWORD: PROCESS_OWNER.password,
    RATE_LIMIT_PER_MINUTE: '1000000',
    WORKERS: '2',
    REDIS_URL: redisUrl,
  })
  onTestFinished(async () => void (await process.stop('SIGKILL')))
  return { url: await process.url(), process }
}

async function isReady(url: string): Promise<number> {
  return (await fetch(`${url}/readyz`)).status
}

/** Each over a connection of its own, so that every worker is asked. */
function scoreAt(url: string, slug: string, key: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(`${url}/v1/score/${slug}`, {
      method: 'POST',
      agent: new Agent({ keepAlive: false }),
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    })
    sent.on('error', reject).on('response', (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    sent.end('{"income": 1}')
  })
}

interface Known {
  readonly slug: string
  readonly key: string
}

async function makeKnown(url: string, token: string, number: number): Promise<Known> {
  const spec = { ...sampleSpec(), name: `Card ${number}` }
  const order = { spec, environment: 'production', auto_deploy: true }
  const deployed = await post(`${url}/v1/models/deploy`, order, token)
  const { slug } = deployed.body['deployment'] as { slug: string }
  const created = await post(`${url}/v1/keys`, { name: `key ${number}` }, token)
  return { slug, key: String(created.body['key']) }
}

async function readStatuses(replicas: readonly Replica[], known: readonly Known[]) {
  const statuses = new Map<number, number>()
  for (let round = 0; round < 6; round++) {
    for (const { url } of replicas) {
      for (const { slug, key } of known) {
        const status = await scoreAt(url, slug, key)
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
      }
    }
  }
  return [...statuses.keys()]
}

describe.skipIf(!hasPostgresServer || inject('redisUrl') === null)('a fresh process', () => {
  test('scores all that is known when the database goes right after it is ready', async () => {
    const server = await PostgresServer.start()
    onTestFinished(() => server.drop())
    const dataDirs = [newDataDir(), newDataDir()]
    onTestFinished(() => {
      for (const dataDir of dataDirs) rmSync(join(dataDir, '..'), { recursive: true, force: true })
    })
    const start = async () => {
      const replicas: Replica[] = []
      for (const dataDir of dataDirs) replicas.push(await startReplica(server.url, dataDir))
      for (const { url } of replicas) await expect.poll(() => isReady(url)).toBe(200)
      return replicas
    }
    const [first, ...others] = await start()
    if (first === undefined) throw new Error('no replica')
    const login = await post(`${first.url}/api/auth/login`, PROCESS_OWNER)
    const token = String(login.body['access_token'])
    const known: Known[] = []
    for (let number = 0; number < DEPLOYMENTS; number++) {
      known.push(await makeKnown(first.url, token, number))
    }
    for (const { process } of [first, ...others]) await process.stop()

    const replicas = await start()
    await server.stop()
    expect(await readStatuses(replicas, known)).toEqual([200])
  })
})
