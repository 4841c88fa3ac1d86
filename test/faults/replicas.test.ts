import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { BEST_OF_FOUR } from '../support/expect/tries.ts'
import { RedisProcess } from '../support/servers/redis.ts'
import { TcpProxy } from '../support/servers/tcp-proxy.ts'
import { backends, newDataDir, type TestDatabase } from '../support/start/databases.ts'
import { TestService } from '../support/start/service.ts'
import { numberedSpec, Team } from '../support/start/team.ts'

const TTL_SEC = 4
const CAN_RUN = inject('postgresTemplate') !== null && inject('redisUrl') !== null

/** Two replicas over one database, each behind a proxy of its own, and one Redis. */
class Replicas {
  readonly redis: RedisProcess
  readonly first: Team
  readonly second: TestService
  /** Between the second one and the database. */
  readonly proxy: TcpProxy
  private readonly database: TestDatabase

  private constructor(
    redis: RedisProcess,
    first: Team,
    second: TestService,
    proxy: TcpProxy,
    database: TestDatabase,
  ) {
    this.redis = redis
    this.first = first
    this.second = second
    this.proxy = proxy
    this.database = database
  }

  static async start(): Promise<Replicas> {
    const postgres = backends.find(({ name }) => name === 'PostgreSQL')
    if (postgres === undefined) throw new Error('no PostgreSQL server was named')
    const redis = await RedisProcess.start()
    const database = await postgres.create()
    const url = new URL(database.databaseUrl ?? '')
    const proxy = await TcpProxy.start(Number(url.port))
    const env = { REDIS_URL: redis.url, SPEC_CACHE_TTL_SECONDS: `${TTL_SEC}` }
    const replica = (databaseUrl: string) =>
      TestService.start(
        {
          name: 'PostgreSQL',
          create: async () => ({ databaseUrl, dataDir: newDataDir(), drop: async () => {} }),
        },
        { env },
      )
    const first = await replica(url.href)
    url.port = String(proxy.port)
    const second = await replica(url.href)
    return new Replicas(redis, await Team.of(first), second, proxy, database)
  }

  /** What the second replica answers to a score. */
  async ask(slug: string, token = this.first.key) {
    const answer = await this.second.call({ url: `/v1/score/${slug}`, token, body: { income: 1 } })
    return answer.statusCode === 200 ? answer.json().model_version : answer.json().error
  }

  /** Milliseconds until the second replica answers so. */
  async delayMs(slug: string, expected: string, token?: string): Promise<number> {
    const startedMs = performance.now()
    for (;;) {
      const answer = await this.ask(slug, token)
      const elapsedMs = performance.now() - startedMs
      if (answer === expected) return elapsedMs
      if (elapsedMs > 2 * TTL_SEC * 1000) expect(answer).toBe(expected)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }

  async close(): Promise<void> {
    await this.second.close()
    await this.first.service.close()
    await this.proxy.close()
    await this.database.drop()
  }
}

/** A deployment with a challenger in shadow mode, known to both replicas. */
async function ladder() {
  const replicas = await Replicas.start()
  onTestFinished(() => replicas.close())
  const { first: team } = replicas
  const { slug } = await team.deploy(numberedSpec(1))
  const { id: challengerId } = await team.challenge(slug, numberedSpec(2), 10)
  const shadow = { action: 'toggle_shadow', shadow_mode: true }
  await team.done('PATCH', `/v1/deployments/${slug}/traffic`, shadow)
  await replicas.delayMs(slug, '1.0')
  return { replicas, team, slug, challengerId }
}

describe.skipIf(!CAN_RUN)('two replicas over one PostgreSQL and one Redis', BEST_OF_FOUR, () => {
  // A risk team that rolls back a broken model must not wait for caches.
  test('promotion, rollback, switching off and revocation are in force in the other within a second', async () => {
    const { replicas, team, slug, challengerId } = await ladder()
    const key = await team.service.createKey(team.owner)
    expect(await replicas.ask(slug, key)).toBe('1.0')

    await team.done('POST', `/v1/deployments/${slug}/promote`, { challenger_id: challengerId })
    expect(await replicas.delayMs(slug, '2.0')).toBeLessThan(1_000)
    await team.done('POST', `/v1/deployments/${slug}/rollback`, { reason: 'wrong' })
    expect(await replicas.delayMs(slug, '1.0')).toBeLessThan(1_000)

    const { keys } = await team.done('GET', '/v1/keys')
    const { id } = keys.find(({ prefix }: { prefix: string }) => key.startsWith(prefix))
    expect((await team.call('DELETE', `/v1/keys/${id}`)).statusCode).toBe(204)
    expect(await replicas.delayMs(slug, 'invalid_api_key', key)).toBeLessThan(1_000)

    await team.done('PATCH', `/v1/deployments/${slug}`, { is_active: false })
    expect(await replicas.delayMs(slug, 'deployment_not_found')).toBeLessThan(1_000)
  })

  test('a removed member is refused by the other within a second', async () => {
    const { replicas, team } = await ladder()
    const member = { email: 'm@lender.example', password: 'long enough, too' }
    const { id } = await team.done('POST', '/v1/members', { ...member, role: 'viewer' })
    const login = await replicas.second.call({ url: '/api/auth/login', body: member })
    const list = async () => {
      const token = login.json().access_token
      return (await replicas.second.call({ method: 'GET', url: '/v1/models', token })).statusCode
    }
    expect(await list()).toBe(200)
    await team.call('DELETE', `/v1/members/${id}`)
    const startedMs = performance.now()
    while ((await list()) !== 401) expect(performance.now() - startedMs).toBeLessThan(1_000)
  })

  // Messages are lost while Redis is away; nothing else may depend on them.
  test('without Redis a change is in force within the time-to-live, and at once when Redis is back', async () => {
    const { replicas, team, slug, challengerId } = await ladder()
    await replicas.redis.kill()
    await team.done('POST', `/v1/deployments/${slug}/promote`, { challenger_id: challengerId })
    // Half of it later a request starts the re-check behind it.
    expect(await replicas.delayMs(slug, '2.0')).toBeLessThan(TTL_SEC * 1_000 + 500)

    await team.done('POST', `/v1/deployments/${slug}/rollback`, { reason: 'wrong' })
    await replicas.redis.restart()
    expect(await replicas.delayMs(slug, '1.0'), 'what was missed is re-checked').toBeLessThan(1_500)
  })

  // A firewall that drops a connection tells nobody.
  test('a stopped Redis is noticed, and missed changes are published when it goes on', async () => {
    const { replicas, team, slug, challengerId } = await ladder()
    replicas.redis.signal('SIGSTOP')
    await team.done('POST', `/v1/deployments/${slug}/promote`, { challenger_id: challengerId })
    expect(await replicas.delayMs(slug, '2.0')).toBeLessThan(TTL_SEC * 1_000 + 500)
    replicas.redis.signal('SIGCONT')
  })

  // An outage of the database must not become one of the decisions that need nothing of it.
  test('while its database is away a replica goes on scoring, far beyond the time-to-live', async () => {
    const { replicas, slug } = await ladder()
    replicas.proxy.silenceConnections()
    const startedMs = performance.now()
    const slowest = { ms: 0 }
    while (performance.now() - startedMs < 1.5 * TTL_SEC * 1_000) {
      const askedMs = performance.now()
      expect(await replicas.ask(slug)).toBe('1.0')
      slowest.ms = Math.max(slowest.ms, performance.now() - askedMs)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    expect(slowest.ms).toBeLessThan(1_500)
  })
})
