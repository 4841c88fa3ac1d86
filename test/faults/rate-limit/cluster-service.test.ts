import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { sampleSpec } from '../../support/cards/cards.ts'
import { printFigures } from '../../support/expect/reconciliation.ts'
import { BEST_OF_FOUR } from '../../support/expect/tries.ts'
import { RedisClusterServers } from '../../support/servers/redis-cluster.ts'
import { backends } from '../../support/start/databases.ts'
import { post, ServiceProcess } from '../../support/start/process.ts'
import { PROCESS_OWNER, readMetric } from '../../support/start/running.ts'

const QUOTA = 200
const REQUESTS = 300
const ATTEMPTS_MAX = 15
const FAILURES = 10

const hasServers = inject('redisUrl') !== null && inject('postgresTemplate') !== null

describe.skipIf(!hasServers)('two replicas on a cluster of three nodes', BEST_OF_FOUR, () => {
  async function startReplicas() {
    const servers = await RedisClusterServers.start(3)
    const database = await backends.find(({ name }) => name === 'PostgreSQL')?.create()
    if (database === undefined) throw new Error('no PostgreSQL server was named')
    onTestFinished(() => database.drop())
    const replicas: { url: string; service: ServiceProcess }[] = []
    for (const name of ['a', 'b']) {
      const service = ServiceProcess.start({
        DATABASE_URL: database.databaseUrl ?? '',
        REDIS_URL: servers.url,
        JWT_SECRET: 'secret of the tests, long enough',
        BOOTSTRAP_OWNER_EMAIL: PROCESS_OWNER.email,
        BOOTSTRAP_OWNER_PASSWORD: PROCESS_OWNER.password,
        RATE_LIMIT_PER_MINUTE: String(QUOTA),
        DATA_DIR: `${database.dataDir}-${name}`,
      })
      onTestFinished(async () => void (await service.stop('SIGKILL')))
      replicas.push({ url: await service.url(), service })
    }
    return replicas
  }

  test('count quotas, end keys and throttle sign-ins together', async () => {
    const replicas = await startReplicas()
    const [a = '', b = ''] = replicas.map(({ url }) => url)
    const login = await post(`${a}/api/auth/login`, PROCESS_OWNER)
    const token = String(login.body['access_token'])
    const order = { spec: sampleSpec(), environment: 'production', auto_deploy: true }
    const deployed = await post(`${a}/v1/models/deploy`, order, token)
    const { slug } = deployed.body['deployment'] as { slug: string }
    const newKey = async () => (await post(`${a}/v1/keys`, { name: 'a key' }, token)).body
    const score = (url: string, key: string) =>
      post(`${url}/v1/score/${slug}`, { age_in_years: 30 }, key)

    // A try in which a busy machine held a node up for 50 ms is void.
    const sum = async (name: string) => {
      const all = await Promise.all(replicas.map(({ url }) => readMetric(url, name)))
      return all.reduce((total, count) => total + count, 0)
    }
    const losses = () => sum('scoreline_quota_degradations_total')
    let statuses: number[] = []
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      await expect.poll(() => sum('scoreline_quota_degraded')).toBe(0)
      const before = await losses()
      const key = String((await newKey())['key'])
      const asked = Array.from({ length: REQUESTS }, (_, n) => score(n % 2 === 0 ? a : b, key))
      statuses = (await Promise.all(asked)).map(({ status }) => status)
      if ((await losses()) === before) break
    }
    const admitted = statuses.filter((status) => status === 200).length
    printFigures({ asked: REQUESTS, admitted, denied: REQUESTS - admitted })
    expect(admitted).toBe(QUOTA)
    expect(statuses.filter((status) => status === 429)).toHaveLength(REQUESTS - QUOTA)

    // The change reaches the other replica by any node.
    const key = await newKey()
    expect((await score(b, String(key['key']))).status).toBe(200)
    const ended = await fetch(`${a}/v1/keys/${key['id']}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${token}` },
    })
    expect(ended.status).toBe(204)
    const endedMs = performance.now()
    while ((await score(b, String(key['key']))).status !== 401) {
      expect(performance.now() - endedMs).toBeLessThan(1_000)
    }

    const guess = { email: 'guessed@lender.example', password: 'a wrong password' }
    const guesses: number[] = []
    for (let n = 0; n < FAILURES + 1; n++) {
      guesses.push((await post(`${n % 2 === 0 ? a : b}/api/auth/login`, guess)).status)
    }
    expect(guesses).toEqual([...new Array<number>(FAILURES).fill(401), 429])

    const readAll = async () => (await fetch(`${a}/metrics`)).text()
    await expect
      .poll(readAll)
      .toMatch(/^scoreline_quota_node_degraded\{node="127\.0\.0\.1:\d+"\} 0$/m)
    const metrics = await readAll()
    const shares = [...metrics.matchAll(/^scoreline_quota_node_share\{.*\} ([\d.]+)$/gm)]
    expect(shares).toHaveLength(3)
    expect(shares.reduce((sum, [, share]) => sum + Number(share), 0)).toBeCloseTo(1)
  })
})
