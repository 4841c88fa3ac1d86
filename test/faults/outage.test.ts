import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { card, plainFeature } from '../support/cards/cards.ts'
import { BEST_OF_FOUR } from '../support/expect/tries.ts'
import { TcpProxy } from '../support/servers/tcp-proxy.ts'
import { backends } from '../support/start/databases.ts'
import { TestService } from '../support/start/service.ts'

const DEADLINE_MS = 10_000
const OUTAGE_MS = 6_000

describe.skipIf(inject('postgresTemplate') === null)('on PostgreSQL', BEST_OF_FOUR, () => {
  /** The service, with a proxy between it and its database. */
  async function startBehindProxy(): Promise<{ service: TestService; proxy: TcpProxy }> {
    const postgres = backends.find((backend) => backend.name === 'PostgreSQL')
    if (postgres === undefined) throw new Error('no PostgreSQL server was named')
    let proxy: TcpProxy | undefined
    const service = await TestService.start({
      name: 'PostgreSQL',
      create: async () => {
        const database = await postgres.create()
        const url = new URL(database.databaseUrl ?? '')
        proxy = await TcpProxy.start(Number(url.port))
        url.port = String(proxy.port)
        return { ...database, databaseUrl: url.href }
      },
    })
    if (proxy === undefined) throw new Error('the database was never asked for')
    const started = proxy
    onTestFinished(async () => {
      await service.close()
      await started.close()
    })
    return { service, proxy: started }
  }

  // A driver that waits longer and longer between its attempts makes an outage last as long again.
  test('management is refused, and answers again, within two seconds, however long an outage is', async () => {
    const { service, proxy } = await startBehindProxy()
    const owner = await service.signIn()
    const list = async () => {
      const answer = await service.call({ method: 'GET', url: '/v1/models', token: owner })
      return answer.statusCode
    }
    const targetPort = Number(new URL(inject('postgresTemplate')?.serverUrl ?? '').port)
    await proxy.close()
    const startedMs = performance.now()
    while (performance.now() - startedMs < OUTAGE_MS) {
      const askedMs = performance.now()
      expect(await list()).toBe(503)
      expect(performance.now() - askedMs, 'waits for the next attempt only').toBeLessThan(2_000)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    const back = await TcpProxy.start(targetPort, proxy.port)
    onTestFinished(() => back.close())
    const backMs = performance.now()
    while ((await list()) !== 200) expect(performance.now() - backMs).toBeLessThan(2_000)
  })

  // A firewall that forgets a connection tells nobody; the driver alone would wait for ever.
  test('connections that went silent are given up, while warm scores go on', async () => {
    const { service, proxy } = await startBehindProxy()
    const owner = await service.signIn()
    const slug = await service.deploy(owner, card([plainFeature('income')]))
    const url = `/v1/score/${slug}`
    const warm = await service.createKey(owner)
    const list = () => service.call({ method: 'GET', url: '/v1/models', token: owner })
    expect((await service.call({ url, token: warm, body: {} })).statusCode).toBe(200)

    proxy.silenceConnections()
    const startedMs = performance.now()
    const waiting = list()
    // Awaited below. What fails before is not unhandled until then.
    waiting.catch(() => undefined)
    expect((await service.call({ url, token: warm, body: {} })).statusCode).toBe(200)
    const overdue = await waiting
    expect(overdue.statusCode).toBe(503)
    expect(overdue.json().error).toBe('unavailable')
    expect(overdue.headers['retry-after']).toBe('1')
    expect(performance.now() - startedMs).toBeLessThan(DEADLINE_MS + 1_000)
    expect((await list()).statusCode).toBe(200)
  })
})
