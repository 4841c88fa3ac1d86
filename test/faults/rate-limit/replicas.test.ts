import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { afterEach, describe, expect, inject, onTestFinished, test } from 'vitest'
import { card, plainFeature } from '../../support/cards/cards.ts'
import { BEST_OF_FOUR } from '../../support/expect/tries.ts'
import { RedisProcess } from '../../support/servers/redis.ts'
import { backends } from '../../support/start/databases.ts'
import { post, ServiceProcess } from '../../support/start/process.ts'
import { readMetric } from '../../support/start/running.ts'

const OWNER = { email: 'owner@lender.example', password: 'a long enough password' }
const REQUESTS = 3_000
const CONNECTIONS = 150
const STORMS_MAX = 20

const running: ServiceProcess[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((service) => service.stop('SIGKILL')))
})

const hasServers = inject('redisUrl') !== null && inject('postgresTemplate') !== null

describe.skipIf(!hasServers)('two replicas and one Redis', () => {
  /** Replicas on one database and one Redis, with a deployment and a key. */
  async function startReplicas(count: number) {
    const redis = await RedisProcess.start()
    const database = await backends.find(({ name }) => name === 'PostgreSQL')?.create()
    if (database === undefined) throw new Error('no PostgreSQL server was named')
    onTestFinished(() => database.drop())
    const env = {
      DATABASE_URL: database.databaseUrl ?? '',
      REDIS_URL: redis.url,
      JWT_SECRET: 'secret of the tests, long enough',
      BOOTSTRAP_OWNER_EMAIL: OWNER.email,
      BOOTSTRAP_OWNER_PASSWORD: OWNER.password,
    }
    const urls: string[] = []
    for (let i = 0; i < count; i++) {
      const service = ServiceProcess.start({ ...env, DATA_DIR: `${database.dataDir}-${i}` })
      running.push(service)
      urls.push(await service.url())
    }
    const [first = ''] = urls
    const login = await post(`${first}/api/auth/login`, OWNER)
    const token = String(login.body['access_token'])
    const spec = card([plainFeature('income')])
    const order = { spec, environment: 'production', auto_deploy: true }
    const deployed = await post(`${first}/v1/models/deploy`, order, token)
    const { slug } = deployed.body['deployment'] as { slug: string }
    const newKey = async () => {
      const created = await post(`${first}/v1/keys`, { name: 'a key' }, token)
      return String(created.body['key'])
    }
    return { redis, urls, path: `/v1/score/${slug}`, newKey }
  }

  /** Statuses and what remained, of many requests at once. */
  async function storm(urls: readonly string[], path: string, keySecret: string) {
    const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS / urls.length })
    const body = JSON.stringify({ income: 1 })
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${keySecret}` }
    const one = async (i: number) => {
      const url = `${urls[i % urls.length]}${path}`
      const sent = request(url, { method: 'POST', agent, headers }).end(body)
      const [response] = await once(sent, 'response')
      response.resume()
      await once(response, 'end')
      const remaining = Number(response.headers['x-ratelimit-remaining'])
      return { status: Number(response.statusCode), remaining }
    }
    const answers = await Promise.all(Array.from({ length: REQUESTS }, (_, i) => one(i)))
    agent.destroy()
    return answers
  }

  // A storm in which a busy machine held Redis up for 50 ms is void: each replica counted for
  // itself.
  test('of 3,000 requests at once exactly the quota is admitted', {
    timeout: 600_000,
  }, async () => {
    const { urls, path, newKey } = await startReplicas(2)
    // What a replica prints comes by a pipe, perhaps after its answers.
    const sum = async (name: string) => {
      const all = await Promise.all(urls.map((url) => readMetric(url, name)))
      return all.reduce((total, count) => total + count, 0)
    }
    const degradations = () => sum('scoreline_quota_degradations_total')
    for (let attempt = 0; attempt < STORMS_MAX; attempt++) {
      await expect.poll(() => sum('scoreline_quota_degraded')).toBe(0)
      const before = await degradations()
      const answers = await storm(urls, path, await newKey())
      if ((await degradations()) !== before) continue
      const admitted = answers.filter(({ status }) => status === 200)
      expect(admitted.length).toBe(1_000)
      expect(answers.filter(({ status }) => status === 429).length).toBe(REQUESTS - 1_000)
      // Each admission has its own place: nothing was counted twice or not at all.
      expect(new Set(admitted.map(({ remaining }) => remaining)).size).toBe(1_000)
      return
    }
    expect.fail('Redis was held up in every storm')
  })

  test('scoring goes on while Redis is away, and the log says so once', async () => {
    const { redis, urls, path, newKey } = await startReplicas(1)
    const keySecret = await newKey()
    const [url = ''] = urls
    const said = (what: string) => (running[0]?.output.split(what).length ?? 1) - 1
    const losses = () => said('counts in this process alone, without Redis')
    const returns = () => said('the quota counts in Redis again')
    await redis.kill()
    // A busy machine may have held Redis up before it was killed.
    const lossesBefore = losses()
    for (let i = 0; i < 20; i++) {
      expect((await post(url + path, { income: 1 }, keySecret)).status).toBe(200)
    }
    // What it prints comes by a pipe.
    await expect.poll(() => losses() - returns()).toBe(1)
    expect(losses() - lossesBefore).toBeLessThanOrEqual(1)
    await redis.restart()
    await expect.poll(() => losses() - returns()).toBe(0)
    expect((await post(url + path, { income: 1 }, keySecret)).status).toBe(200)
  })

  // Between a count in Redis and one in the process, the second would not follow the first.
  test('malformed bytes are answered with the quota of their address', BEST_OF_FOUR, async () => {
    const { urls } = await startReplicas(1)
    const { port } = new URL(urls[0] ?? '')
    const send = async (bytes: string) => {
      const socket = connect(Number(port), '127.0.0.1').setEncoding('utf8')
      let text = ''
      socket.on('data', (data) => {
        text += data
      })
      socket.write(bytes)
      await once(socket, 'close')
      return text
    }
    const readRemaining = (text: string) => Number(/x-ratelimit-remaining: (\d+)/.exec(text)?.[1])
    const first = await send('NOT HTTP AT ALL\r\n\r\n')
    expect(first).toMatch(/^HTTP\/1\.1 400 /)
    expect(first).toContain('x-ratelimit-limit: 1000\r\n')
    const second = await send('NOT HTTP AT ALL\r\n\r\n')
    expect(readRemaining(second)).toBe(readRemaining(first) - 1)
  })
})
